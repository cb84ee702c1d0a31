"""Scripts find `reproduce`, which is not installed, from any folder."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SCRIPTS = [
    path
    for folder in ("examples", "benchmarks")
    for path in sorted((ROOT / folder).glob("*.py"))
    if "from reproduce" in path.read_text("utf-8")
]
FIND = "import importlib.util as u; print(u.find_spec('reproduce').origin)"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_find_the_laboratory(path, tmp_path):
    lines = path.read_text("utf-8").splitlines()
    # What comes before is run, but for imports: those of Keras take long.
    end = next(i for i, x in enumerate(lines) if "from reproduce" in x)
    start = [x for x in lines[:end] if x.startswith(("import ", "sys.path"))]
    code = "\n".join([f"__file__ = {str(path)!r}", *start, FIND])
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout.strip() == str(ROOT / "reproduce" / "__init__.py"), (
        found.stderr
    )
