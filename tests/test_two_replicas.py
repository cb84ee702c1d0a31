import os
import pathlib
import subprocess
import sys

import pytest

CHECKS = (
    "data.two_replicas",
    "ops.two_replicas",
    "losses.two_replicas",
    "rewards.two_replicas",
    "models.two_replicas",
    "objectives.two_replicas",
    "methods.two_replicas",
    "training.two_replicas",
    "training.two_replicas_faults",
)


@pytest.fixture(scope="module")
def process():
    # A process of its own: devices are split before TensorFlow starts.
    script = pathlib.Path(__file__).parent / "two_replicas.py"
    return subprocess.run(
        [sys.executable, str(script), *CHECKS],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_two_replicas_do_what_one_does(name, process):
    said = process.stdout.partition(f"tests.{name}:\n")[2]
    told = said[:4000] or process.stderr[-4000:]
    assert f"tests.{name} is well\n" in said, told
