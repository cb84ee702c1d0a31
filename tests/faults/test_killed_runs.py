"""Runs that are killed end as runs that are not; see kill_trials.py."""

import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parent / "kill_trials.py"


@pytest.mark.slow
@pytest.mark.skipif(
    not pathlib.Path("/proc/self/stat").exists(), reason="needs /proc"
)
def test_a_run_that_is_killed_ends_as_one_that_is_not():
    kinds = "extraction,training"
    done = subprocess.run(
        [sys.executable, SCRIPT, "--trials", "1", "--kinds", kinds],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.count("1 trials") == 2
