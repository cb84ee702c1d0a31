"""Scripts find `reproduce`, which is not installed, from any folder."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SCRIPTS = [
    path
    for folder in ("examples", "benchmarks")
    for path in sorted((ROOT / folder).glob("*.py"))
    if "from reproduce" in path.read_text("utf-8")
]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_find_the_laboratory(path):
    before = path.read_text("utf-8").split("from reproduce")[0].splitlines()
    (line,) = [x for x in before if x.startswith("sys.path.append(")]
    # The folder above that of the script.
    assert line[16:-1] == "str(pathlib.Path(__file__).resolve().parents[1])"
    assert path.parents[1] == ROOT
