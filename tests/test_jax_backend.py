"""The contracts on another backend, in a process of their own.

On the CPU, and elsewhere if asked: `TFCAP_JAX_PLATFORMS=cuda`.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

# One pass over every part; the rest of the contracts has no backend in it.
LAYERS = "config or every_weight or ((graph_agree or the_seed) and not Encoder)"
REWARDS = "values"
JUDGES = "logits"
TESTS = pathlib.Path(__file__).parent


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")
@pytest.mark.parametrize(
    "contract, chosen",
    [
        ("test_contract.py", LAYERS),
        ("rewards/test_contract.py", REWARDS),
        ("rewards/test_grammar.py", REWARDS),
        ("models/test_pair_discriminator.py", JUDGES),
        ("ops/test_word_vectors.py", "looking or read or masked or gone"),
    ],
)
def test_parts_meet_their_contract_on_jax(contract, chosen):
    environment = {
        **os.environ,
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": os.environ.get("TFCAP_JAX_PLATFORMS", "cpu"),
    }
    # A process for a file: workers would import all of it once more each.
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0"]
    command += ["-p", "no:cacheprovider"]
    command += ["-k", chosen, "-W", "default", str(TESTS / contract)]
    run = subprocess.run(
        command,
        cwd=TESTS.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
