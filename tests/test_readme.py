"""Every Python block of the README runs as it stands, in a fresh process."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)
#: What a block leaves behind, by a word in it.
MADE = {
    "PartialSamplingST": "model.keras",
    "tfcap.methods": "runs/psst/*",
    "TradeoffWriter": "logs/mine/*/events.*",
}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block(number, tmp_path):
    block = BLOCKS[number]
    done = subprocess.run(
        [sys.executable, "-c", block],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    wanted = [glob for word, glob in MADE.items() if word in block]
    assert wanted or done.stdout.strip()
    for glob in wanted:
        assert list(tmp_path.glob(glob)), glob


def test_readme_is_short_and_has_a_block_for_each_use():
    assert len(BLOCKS) == 4
    assert len(TEXT.splitlines()) <= 160


@pytest.mark.parametrize(
    "path",
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")],
    ids=lambda p: p.name,
)
def test_linked_files_are_there(path):
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", path.read_text()):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"
