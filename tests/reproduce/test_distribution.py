import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from tests.reproduce.two_workers import train


@pytest.mark.slow
def test_a_study_of_two_workers_ends_as_that_of_one_process(tmp_path):
    folder = tmp_path / "two"
    folder.mkdir()
    script = pathlib.Path(__file__).with_name("two_workers.py")
    launched = ("-m", "tfcap.launch", "--trusted-network", "--workers", "2")
    done = subprocess.run(
        [sys.executable, *launched, "--", sys.executable, script, folder],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    # One of them speaks, and trains once.
    assert done.stdout.count("[0] training\n") == 1
    assert "[1] training" not in done.stdout
    networks = train(folder), train(tmp_path / "one")
    for a, b in zip(*(network.get_weights() for network in networks)):
        np.testing.assert_allclose(a, b, atol=2e-6)
    # One worker logs, and nobody leaves a mess.
    assert len(list((folder / "model" / "train").iterdir())) == 1
    assert not list(folder.glob(".shared*")) + list(folder.rglob("*.partial"))
    assert not (folder / "model" / "checkpoints").exists()
