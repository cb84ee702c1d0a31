"""Recipes on several workers of one machine, as processes of their own."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from tests.recipes.visdial.test_study import study


def launched(*command):
    return subprocess.run(
        [sys.executable, "-m", "tfcap.launch", "--workers", "2", *command],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_a_study_outlives_a_worker_and_ends_as_that_of_one_process(tmp_path):
    folder, script = tmp_path / "two", pathlib.Path(__file__).parent
    folder.mkdir()
    command = [sys.executable, str(script / "two_workers.py"), str(folder)]
    done = launched("--restarts", "1", "--", *command)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "worker 1 ended with signal 9" in done.stderr
    assert "[0] lf_g" in done.stdout and "[1] lf_g" not in done.stdout
    alone = study(tmp_path / "one", generator_epochs=2, validation_dialogs=0)
    wanted = alone.result("lf_g")
    found = json.loads((folder / "lf_g" / "result.json").read_text())
    assert found["answers"] == wanted["answers"]
    for name, value in wanted["generative"].items():
        assert found["generative"][name] == pytest.approx(value, abs=1e-3)
    again = study(folder, generator_epochs=2).networks("lf_g")["generator"]
    networks = again, alone.networks("lf_g")["generator"]
    for a, b in zip(*(network.get_weights() for network in networks)):
        np.testing.assert_allclose(a, b, atol=2e-6)
    # One worker logs, and nobody leaves a mess.
    logs = list((folder / "lf_g" / "train").iterdir())
    assert len(logs) == 2
    assert not list(folder.glob(".shared*")) + list(folder.rglob("*.partial"))
    assert not (folder / "lf_g" / "checkpoints").exists()
