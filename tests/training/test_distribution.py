import os
import pathlib
import re
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_two_workers_go_on_exactly_and_end_in_the_weights_of_one(tmp_path):
    script = pathlib.Path(__file__).parent / "two_workers.py"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tfcap.launch", "--trusted-network"),
            *("--workers", "2", "--", sys.executable, script, tmp_path),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "[0] Stopped by SIGTERM. Saved in " in told, told
    # They ask each other every ten steps.
    assert re.search(r": 1 epoch and \d steps of the next", told), told
