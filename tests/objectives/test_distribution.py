import os
import pathlib
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_two_replicas():
    # A process of its own: devices are split before TensorFlow starts.
    script = pathlib.Path(__file__).parent / "two_replicas.py"
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
