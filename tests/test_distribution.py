"""The wheel and the source distribution hold what they should."""

import email
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PACKAGES = ("tfcap", "tensorboard_plugin_tfcap")
#: Files and folders that the sources, their build and their tests need.
KEPT = (
    *PACKAGES,
    *("benchmarks", "docs", "examples", "notebooks", "reproduce"),
    *("results", "tests", ".ci"),
    *(path.name for path in ROOT.glob("*.md")),
    *(path.name for path in ROOT.glob("*.cff")),
    *("LICENSE", "MANIFEST.in", "conftest.py", "mkdocs.yml"),
    *("pyproject.toml", "setup.cfg", "setup.py"),
)
_BUILD = (
    "from setuptools import build_meta as backend; "
    "backend.build_sdist('dist'); backend.build_wheel('dist')"
)


def files(folder, names=KEPT):
    """Files of a source tree, as paths from its root."""
    found = []
    for name in names:
        path = folder / name
        found += path.rglob("*") if path.is_dir() else [path]
    return {
        path.relative_to(folder).as_posix()
        for path in found
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix not in (".pyc", ".pyo")
    }


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("source")
    for name in files(ROOT):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _BUILD],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder / "dist"


@pytest.mark.slow
def test_the_wheel_holds_the_kit_and_the_plugin_alone(dist):
    (path,) = dist.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        (about,) = [name for name in names if name.endswith("/METADATA")]
        metadata = email.message_from_bytes(wheel.read(about))
        (entry,) = [n for n in names if n.endswith("entry_points.txt")]
        entries = wheel.read(entry).decode()
    kept = {name for name in names if ".dist-info/" not in name}
    assert kept == files(ROOT, PACKAGES)
    assert {f"{package}/py.typed" for package in PACKAGES} <= kept
    needed = metadata.get_all("Requires-Dist")
    base = {re.match(r"[\w-]+", n)[0] for n in needed if "extra ==" not in n}
    assert base == {"numpy", "plotly", "tensorboard"}
    assert "tfcap-report = tensorboard_plugin_tfcap.report:main" in entries
    assert "tfcap_tradeoff = tensorboard_plugin_tfcap.loader:" in entries


@pytest.mark.slow
def test_the_source_distribution_holds_what_its_tests_need(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {m.name.partition("/")[2] for m in archive if m.isfile()}
    assert files(ROOT) <= names


def test_all_that_is_tracked_is_distributed_or_left_out_by_name():
    done = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip("this is no checkout")
    tracked = {name for name in done.stdout.split("\n") if name}
    tracked = {name for name in tracked if (ROOT / name).is_file()}
    left_out = {".gitignore", "layers", "losses"}
    assert tracked - files(ROOT) - left_out == set()
