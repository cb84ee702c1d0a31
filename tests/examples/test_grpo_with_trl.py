"""TRL's GRPO trainer learns from CIDEr-D, where TRL is installed.

`TFCAP_TRL_PYTHON` may name the Python of an environment that has it.
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PYTHON = os.environ.get("TFCAP_TRL_PYTHON")


@pytest.mark.slow
@pytest.mark.skipif(
    not PYTHON and importlib.util.find_spec("trl") is None,
    reason="needs TRL; set TFCAP_TRL_PYTHON to a Python that has it",
)
def test_the_reward_rises():
    python, script = PYTHON or sys.executable, "examples/grpo_with_trl.py"
    done = subprocess.run(
        [python, script, "--steps", "40"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = re.search(r"CIDEr-D: ([\d.]+) in .*, ([\d.]+) in", done.stdout)
    first, last = map(float, found.groups())
    assert last > first + 0.2
