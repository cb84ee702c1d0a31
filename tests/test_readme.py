"""Every Python block of the README runs as it stands."""

import json
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
    "TradeoffWriter": "logs/mine/*/events.*",
}
#: Runs the blocks of one process, each with names and a folder of its own.
PROGRAM = """
import contextlib, json, os, sys
for folder, block in json.load(sys.stdin).items():
    os.chdir(folder)
    with open("stdout", "w") as out, contextlib.redirect_stdout(out):
        exec(block, {"__name__": "__main__"})
"""


@pytest.mark.slow
def test_blocks(tmp_path):
    folders = [tmp_path / str(number) for number in range(len(BLOCKS))]
    for folder in folders:
        folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(dict(zip(map(str, folders), BLOCKS))),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for folder, block in zip(folders, BLOCKS):
        wanted = [glob for word, glob in MADE.items() if word in block]
        assert wanted or (folder / "stdout").read_text().strip(), block
        for glob in wanted:
            assert list(folder.glob(glob)), glob


def test_readme_is_short_and_has_a_block_for_each_use():
    assert len(BLOCKS) == 3
    assert len(TEXT.split()) <= 700


@pytest.mark.parametrize(
    "path",
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")],
    ids=lambda p: p.name,
)
def test_linked_files_are_there(path):
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", path.read_text()):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"
