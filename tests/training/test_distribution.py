import os
import pathlib
import re
import subprocess
import sys

import pytest


def launch(name, folder):
    """Two workers, processes of their own."""
    script = pathlib.Path(__file__).parent / name
    return subprocess.run(
        [
            *(sys.executable, "-m", "tfcap.launch", "--trusted-network"),
            *("--workers", "2", "--", sys.executable, script, folder),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )


# Two tests in one: workers take long to start.
@pytest.mark.slow
def test_two_workers_go_on_exactly_and_end_in_the_weights_of_one(tmp_path):
    done = launch("stopped_workers.py", tmp_path)
    told = done.stdout + done.stderr
    assert done.returncode == 143, told
    assert "[0] Stopped by SIGTERM. On the disk in " in told, told
    # They ask each other every ten steps.
    assert re.search(r": 1 epoch and \d steps of the next", told), told
    done = launch("two_workers.py", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.count("THE SAME") == 2
