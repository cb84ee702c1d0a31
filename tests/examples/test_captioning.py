import dataclasses
import json
import re

import numpy as np
import pytest

from reproduce import example
from reproduce.comparisons.strangers import STRANGER_SETTINGS
from reproduce.psst.paper import PSST
from reproduce.sle.paper import SLE
from reproduce.wtf_rl.paper import WTF_RL
from tests.eager import run_eagerly
from tests.examples.conftest import FOLDER
from tests.examples.conftest import load
from tfcap.data import save_features

#: Options of examples, and what they print.
EXAMPLES = {
    "cooperative_captioning": ([], ["A quick run", "speaker alone", "R@10"]),
    "retriever_ensemble": ([], ["held-out R@10", "claim precision"]),
    "diverse_captions": ([], ["A quick run", "sll_sle - sll"]),
    "distinctive_captions": (["--rows", "tf,wtf_rl"], ["unseen retriever"]),
    "tradeoff_curve": (
        ["--methods", "luo2018", "--lambdas", "0.001,0.01"],
        ["Luo et al. 2018"],
    ),
}
SIZES = {"train": 50, "val": 4, "test": 8, "encoder_epochs": 1}
LISTENERS = dataclasses.replace(STRANGER_SETTINGS["quick"], batch_size=50)


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    with run_eagerly(), pytest.MonkeyPatch.context() as patch:
        patch.setitem(example.SIZES, "quick", SIZES)
        patch.setitem(STRANGER_SETTINGS, "quick", LISTENERS)
        # Eagerly, every word and every step takes its time.
        few = {"max_length": 5, "speaker_epochs": 1, "batch_size": 50}
        seen = WTF_RL.settings["quick"]
        retrievers = {
            name: dataclasses.replace(getattr(seen, name), batch_size=50)
            for name in ("retriever", "unseen")
        }
        for paper, more in (
            (PSST, {"ensemble": LISTENERS}),
            (SLE, {"reward_batch_size": 50}),
            (WTF_RL, {"reward_batch_size": 50, **retrievers}),
        ):
            quick = dataclasses.replace(paper.settings["quick"], **few, **more)
            patch.setitem(paper.settings, "quick", quick)
            own = dataclasses.replace(paper.settings["flickr8k"], max_length=5)
            patch.setitem(paper.settings, "flickr8k", own)
        yield


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    return str(tmp_path_factory.mktemp("worlds"))


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_rows_are_trained_and_shown(worlds, tmp_path, capsys, name):
    more, words = EXAMPLES[name]
    script, out = load(name), tmp_path / "run"
    command = ["--quick", "--root", worlds, "--out", str(out), *more]
    assert script.main(command) == 0
    said = capsys.readouterr().out
    assert all(word in said for word in words)
    if name == "tradeoff_curve":
        assert (out / "curves.html").stat().st_size > 10_000
        assert (out / "tables.md").read_text()
        # Everything is there: nothing is trained, and the same is drawn.
        assert script.main(command) == 0
        assert "2 of 2 points are done" in capsys.readouterr().out
        return
    assert (out / "page.html").read_text().count("<img") == SIZES["test"]
    if name == "retriever_ensemble":
        # What is false in captions is marked in the tab.
        logs = (out / "tradeoff").rglob("events.*")
        assert any(b'"claims"' in path.read_bytes() for path in logs)


@pytest.mark.parametrize(
    ("name", "score", "title"),
    [
        ("cooperative_captioning", "r@10", "own R@10"),
        # The one listener of all rows: no row's own.
        ("retriever_ensemble", "fixed_r@10", "fixed R@10"),
    ],
)
def test_scores_that_there_are_not_have_no_column(name, score, title):
    """A test split of one photograph has no CIDEr-D."""
    rows = {"a": {score: 9.0}, "b": {score: 8.5}}
    head, *rows = load(name).table(rows).splitlines()
    assert head.split() == title.split()
    assert [row.split() for row in rows] == [["a", "9.000"], ["b", "8.500"]]


@pytest.mark.parametrize("name", EXAMPLES)
def test_folders_without_data_or_closed_are_told(name, capsys, tmp_path):
    script, files = load(name), ["--data", "flickr8k"]
    with pytest.raises(SystemExit):
        script.main(files)
    assert "needs --root" in capsys.readouterr().err
    files += ["--root", str(tmp_path), "--out"]
    assert script.main([*files, str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "error: `root` must hold one file" in said
    assert str(tmp_path) in said and "Traceback" not in said
    # A folder that cannot be made, before data are read or drawn.
    (tmp_path / "file").touch()
    assert script.main([*files, str(tmp_path / "file" / "out")]) == 2
    said = capsys.readouterr().err
    assert "must be a file or folder that can be used" in said
    assert "Not a directory" in said


def photographs(count):
    """The first and the last photographs of docs/own_photographs.md."""
    text = (FOLDER.parent / "docs" / "own_photographs.md").read_text()
    shown = json.loads(re.search(r"```json\n(.*?)```", text, re.S)[1])
    images = shown["images"]
    return [*images[: count - 1], images[-1]]


def write_own(folder, images):
    """Writes captions, and features of their images; returns options."""
    content = json.dumps({"images": images})
    (folder / "dataset_own.json").write_text(content)
    ids = [image["imgid"] for image in images]
    features = np.random.default_rng(0).normal(size=(len(ids), 4, 3))
    save_features(folder / "features.npy", ids, features)
    command = ["--data", "flickr8k", "--root", str(folder), "--epochs", "1"]
    return [*command, "--min-count", "1", "--out", str(folder / "out")]


@pytest.mark.slow
def test_a_few_photographs_are_enough(tmp_path):
    command = write_own(tmp_path, photographs(5))
    command += ["--methods", "psst_multinomial", "--lambdas", "0.001"]
    with run_eagerly():
        assert load("tradeoff_curve").main(command) == 0


@pytest.mark.parametrize("split, count", [("train", 2), ("test", 3)])
def test_a_single_photograph_of_a_split_is_told(split, count, tmp_path, capsys):
    command = write_own(tmp_path, photographs(count))
    assert load("tradeoff_curve").main(command) == 2
    said = capsys.readouterr().err
    assert "at least two" in said and "Received: 1" in said
