import os
import pathlib
import subprocess
import sys

import pytest

from tests.networks import own_network_options


def run(name, *arguments, by=()):
    # A process of its own: devices are split before TensorFlow starts.
    script = pathlib.Path(__file__).parent / name
    done = subprocess.run(
        [sys.executable, *by, str(script), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


@pytest.mark.slow
def test_training_on_two_replicas_ends_in_the_weights_of_one():
    run("two_replicas.py")


@pytest.mark.slow
def test_two_replicas_stop_at_or_skip_the_steps_that_one_would():
    run("two_replicas_faults.py")


@pytest.mark.slow
def test_training_on_two_workers_ends_in_the_weights_of_one_process(tmp_path):
    options = (*own_network_options(), "--workers", "2")
    launched = ("-m", "tfcap.launch", *options, "--", sys.executable)
    run("two_workers.py", str(tmp_path), by=launched)


@pytest.mark.slow
def test_two_workers_of_which_one_is_taken_away_go_on_exactly(tmp_path):
    script = pathlib.Path(__file__).parent / "stopped_workers.py"
    command = [
        *(sys.executable, "-m", "tfcap.launch", *own_network_options()),
        *("--workers", "2", "--", sys.executable, script, tmp_path),
    ]
    for status in (143, 0):
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
        )
        told = done.stdout + done.stderr
        assert done.returncode == status, told
        if status:
            assert "[0] Stopped by SIGTERM after step" in told, told
            assert "of epoch 2, which is on the disk" in told
            assert "To go on, run the same command again" in told
    assert told.count("THE SAME") == 2
