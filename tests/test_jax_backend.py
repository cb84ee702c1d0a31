"""The layers' contract on another backend, in a process of its own."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

# One pass over every layer; the rest of the contract has no backend in it.
CHOSEN = "config or every_weight or ((graph_agree or the_seed) and not Encoder)"
TESTS = pathlib.Path(__file__).parent


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")
def test_layers_meet_their_contract_on_jax():
    environment = {
        **os.environ,
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-k", CHOSEN, "-W", "default"]
    command.append(str(TESTS / "test_contract.py"))
    run = subprocess.run(
        command,
        cwd=TESTS.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
