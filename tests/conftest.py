import gzip
import importlib.util
import os
import pathlib
import sys
import time
import zipfile

import hypothesis
import pytest

from tfcap.text.missing_score import MissingScoreError
from tfcap.text.scores.java import MODELS as SPICE_MODELS
from tfcap.text.scores.meteor_resources import meteor_resources
from tfcap.text.scores.spice_spacy import scene_graph_parser
from tfcap.text.scores.spice_spacy import synonym_sets

# A busy machine is no failure.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared_data():
    """Folder with real data, which is no part of the project."""
    path = pathlib.Path(
        os.environ.get("TFCAP_DATA") or ROOT.parent / "shared" / "data"
    )
    if not path.is_dir():
        pytest.skip("needs real data; set TFCAP_DATA to their folder")
    return path


@pytest.fixture
def fake_package(tmp_path, monkeypatch):
    """A pycocoevalcap in which the programs are empty files."""
    folder = tmp_path / "site" / "pycocoevalcap"
    for name in (
        "__init__.py",
        "meteor/meteor-1.5.jar",
        "meteor/data/paraphrase-en.gz",
        "spice/spice-1.0.jar",
        "spice/lib/fst-2.47.jar",
        "tokenizer/stanford-corenlp-3.4.1.jar",
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for name in [x for x in sys.modules if x.startswith("pycocoevalcap")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(folder.parent))
    yield folder
    for name in [x for x in sys.modules if x.startswith("pycocoevalcap")]:
        del sys.modules[name]


@pytest.fixture
def fake_spice(fake_package, tmp_path, monkeypatch):
    """A pycocoevalcap whose SPICE is a tenth of the number of words."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.touch(0o755)
    monkeypatch.setenv("PATH", str(java.parent), prepend=":")
    folder = fake_package / "spice"
    for name in SPICE_MODELS:
        (folder / "lib" / name).touch()
    (folder / "__init__.py").touch()
    (folder / "spice.py").write_text(
        "class Spice:\n"
        "    def compute_score(self, human, said):\n"
        "        assert [*human] == [*said] and all(human.values())\n"
        "        lengths = [len(x.split()) for (x,) in said.values()]\n"
        "        return 7.0, [{'All': {'f': n / 10}} for n in lengths]\n"
    )
    return folder


def forget_tables():
    meteor_resources.cache_clear()
    synonym_sets.cache_clear()


@pytest.fixture
def few_words(fake_package, tmp_path, monkeypatch):
    """A pycocoevalcap in which METEOR knows a few words."""
    folder = fake_package / "meteor"
    tables = {
        "function/english.words": "a\nthe\nof\n",
        "nonbreaking/english.prefixes": "# titles\nMr\nNo #NUMERIC_ONLY#\n",
        "synonym/english.synsets": "dog\n01 02\nhound\n02\ntalk\n03\n"
        "speak\n03\nman\n04\nmale\n04\ncup\n05\nglassful\n05\nglass\n06\n",
        "synonym/english.exceptions": "speak\nspoke spoken\n",
    }
    with zipfile.ZipFile(folder / "meteor-1.5.jar", "w") as jar:
        for name, content in tables.items():
            jar.writestr(name, content)
    rows = [("a lot of", "many"), ("a lot of", "much"), ("big", "very large")]
    lines = [f"0.5\n{phrase}\n{other}\n" for phrase, other in rows]
    with gzip.open(folder / "data" / "paraphrase-en.gz", "wt") as file:
        file.write("".join(lines))
    monkeypatch.setenv("TFCAP_CACHE", str(tmp_path / "cache"))
    forget_tables()
    yield folder
    forget_tables()


@pytest.fixture
def no_meteor(monkeypatch):
    """A Python without METEOR's tables."""

    def find_spec(name, package=None, find=importlib.util.find_spec):
        return None if name == "pycocoevalcap" else find(name, package)

    monkeypatch.setattr("importlib.util.find_spec", find_spec)
    forget_tables()
    yield
    forget_tables()


@pytest.fixture(scope="session")
def scene_graphs():
    """A parser of captions into scene graphs."""
    try:
        return scene_graph_parser()
    except MissingScoreError as error:
        pytest.skip(str(error))


@pytest.fixture
def gone():
    """Function that waits for the end of a process whose id a file holds."""

    def check(path):
        status = pathlib.Path(f"/proc/{path.read_text().strip()}/status")
        for _ in range(100):
            if not status.exists() or "State:\tZ" in status.read_text():
                return True
            time.sleep(0.05)
        return False

    return check
