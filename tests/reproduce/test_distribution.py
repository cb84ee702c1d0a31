import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from tests.reproduce.visdial.tiny_study import study

FOLDER = pathlib.Path(__file__).parent


def run(*command, status=0):
    # Processes of their own: devices are split before TensorFlow starts.
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stdout[-3000:] + done.stderr[-3000:]
    return done


@pytest.mark.slow
def test_a_row_on_two_replicas_ends_in_the_weights_of_one():
    done = run(FOLDER / "two_replicas.py", "sll_sle")
    assert "rows/sll_sle/speaker" in done.stdout


@pytest.mark.slow
def test_a_study_outlives_a_worker_and_ends_as_that_of_one_process(tmp_path):
    folder = tmp_path / "two"
    folder.mkdir()
    options = ("--trusted-network", "--workers", "2")
    launched = ("-m", "tfcap.launch", *options)
    script = FOLDER / "two_workers.py"
    command = (*launched, "--", sys.executable, script, folder)
    done = run(*command, status=128 + 9)
    assert "Worker 1 ended with status -9" in done.stderr
    done = run(*command)
    assert "[0] lf_g" in done.stdout and "[1] lf_g" not in done.stdout
    assert (folder / "compiled.keras").exists()
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
