import dataclasses
import importlib.util
import json
import pathlib
import re

import numpy as np
import pytest

from reproduce import example
from reproduce.comparisons.strangers import STRANGER_SETTINGS
from reproduce.psst.paper import PSST
from reproduce.sle.paper import SLE
from reproduce.sweep import load_records
from reproduce.wtf_rl.paper import WTF_RL
from tests.eager import run_eagerly
from tfcap.data import save_features

FOLDER = pathlib.Path(__file__).parents[2] / "examples"
SIZES = {"train": 50, "val": 4, "test": 8, "encoder_epochs": 1}
LISTENERS = dataclasses.replace(STRANGER_SETTINGS["quick"], batch_size=50)


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    with run_eagerly(), pytest.MonkeyPatch.context() as patch:
        patch.setitem(example.SIZES, "quick", SIZES)
        patch.setitem(STRANGER_SETTINGS, "quick", LISTENERS)
        for paper in (PSST, SLE, WTF_RL):
            # Eagerly, every word and every step takes its time.
            few = {"max_length": 5, "speaker_epochs": 1, "batch_size": 25}
            if paper is PSST:
                few["ensemble"] = LISTENERS
            else:
                few["reward_batch_size"] = 25
            quick = paper.settings["quick"]
            if paper is WTF_RL:
                for name in ("retriever", "unseen"):
                    few[name] = dataclasses.replace(
                        getattr(quick, name), batch_size=50
                    )
            quick = dataclasses.replace(quick, **few)
            patch.setitem(paper.settings, "quick", quick)
        yield


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    return str(tmp_path_factory.mktemp("worlds"))


@pytest.mark.slow
def test_two_players_are_trained_and_shown(worlds, tmp_path, capsys):
    script = load("cooperative_captioning")
    out = tmp_path / "run"
    command = ["--quick", "--root", worlds, "--out", str(out)]
    assert script.main(command) == 0
    said = capsys.readouterr().out
    assert "means nothing" in said and "R@10" in said
    assert "speaker alone" in said and "psst_multinomial" in said
    assert (out / "page.html").read_text().count("<img") == SIZES["test"]
    found = json.loads(next(out.rglob("points/*/result.json")).read_text())
    assert 0 <= found["r@1"] <= 100


@pytest.mark.slow
def test_curves_are_drawn_of_what_is_done(worlds, tmp_path, capsys):
    script = load("tradeoff_curve")
    out = tmp_path / "run"
    command = ["--quick", "--root", worlds, "--out", str(out)]
    command += ["--methods", "luo2018", "--lambdas", "0.001,0.01"]
    assert script.main(command) == 0
    said = capsys.readouterr().out
    assert len(load_records(out)) == 2
    assert "Luo et al. 2018" in said
    assert (out / "curves.html").stat().st_size > 10_000
    assert (out / "tables.md").read_text()
    # Everything is there: nothing is trained, and the same is drawn.
    assert script.main(command) == 0
    assert "2 of 2 points are done" in capsys.readouterr().out


@pytest.mark.slow
def test_strangers_find_images_by_what_an_ensemble_rewards(
    worlds, tmp_path, capsys
):
    script = load("retriever_ensemble")
    out = tmp_path / "run"
    command = ["--quick", "--root", worlds, "--out", str(out)]
    assert script.main(command) == 0
    said = capsys.readouterr().out
    assert "strangers' R@10" in said and "said is true" in said
    assert "speaker_mle" in said and "retriever_ensemble" in said
    # What is false in captions is marked in the tab.
    logs = (out / "tradeoff").rglob("events.*")
    assert any(b'"claims"' in path.read_bytes() for path in logs)
    assert (out / "page.html").read_text().count("<img") == SIZES["test"]


@pytest.mark.slow
def test_several_captions_are_set_side_by_side(worlds, tmp_path, capsys):
    script = load("diverse_captions")
    out = tmp_path / "run"
    command = ["--quick", "--root", worlds, "--out", str(out)]
    assert script.main(command) == 0
    said = capsys.readouterr().out
    assert "means nothing" in said and "sll_sle - sll" in said
    assert (out / "page.html").read_text().count("<img") == SIZES["test"]
    assert len(load_records(out)) == 3


@pytest.mark.slow
def test_captions_that_stand_out_are_set_beside_others(
    worlds, tmp_path, capsys
):
    script = load("distinctive_captions")
    out = tmp_path / "run"
    command = ["--quick", "--root", worlds, "--out", str(out)]
    command += ["--rows", "tf,wtf_rl"]
    assert script.main(command) == 0
    said = capsys.readouterr().out
    assert "means nothing" in said and "unseen retriever" in said
    assert (out / "page.html").read_text().count("<img") == SIZES["test"]
    assert len(load_records(out)) == 2


@pytest.mark.parametrize(
    ("name", "score", "title"),
    [
        ("cooperative_captioning", "r@10", "own R@10"),
        # The one listener of all rows: no row's own.
        ("retriever_ensemble", "fixed_r@10", "one for all, R@10"),
    ],
)
def test_scores_that_there_are_not_have_no_column(name, score, title):
    """A test split of one photograph has no CIDEr-D."""
    rows = {"a": {score: 9.0}, "b": {score: 8.5}}
    head, *rows = load(name).table(rows).splitlines()
    assert head.split() == title.split()
    assert [row.split() for row in rows] == [["a", "9.000"], ["b", "8.500"]]


CAPTIONING = [
    "cooperative_captioning",
    "tradeoff_curve",
    "diverse_captions",
    "distinctive_captions",
]


@pytest.mark.parametrize("name", CAPTIONING)
def test_files_need_a_folder(name, capsys):
    with pytest.raises(SystemExit):
        load(name).main(["--data", "flickr8k"])
    assert "needs --root" in capsys.readouterr().err


@pytest.mark.parametrize("name", CAPTIONING)
def test_a_folder_without_data_or_closed_is_told_in_a_sentence(
    name, capsys, tmp_path, monkeypatch
):
    script, out = load(name), tmp_path / "out"
    command = ["--root", str(tmp_path), "--out", str(out)]
    assert script.main([*command, "--data", "flickr8k"]) == 2
    said = capsys.readouterr().err
    assert "error: `root` must hold one file" in said
    assert str(tmp_path) in said and "Traceback" not in said

    def closed(*_, **__):
        raise PermissionError(13, "Permission denied", str(out))

    # A folder that cannot be made, before data are read or drawn.
    (tmp_path / "file").touch()
    command[-1] = str(tmp_path / "file" / "out")
    assert script.main([*command, "--data", "flickr8k"]) == 2
    said = capsys.readouterr().err
    assert "Not a directory" in said and "file" in said

    # Root may write everywhere.
    name = "reproduce.captioning.load_data.caption_files"
    monkeypatch.setattr(name, closed)
    command[-1] = str(out)
    assert script.main([*command, "--data", "flickr8k"]) == 2
    said = capsys.readouterr().err
    assert (
        f"must be a file or folder that can be used. Received: path='{out}'"
        in said
    )


def documented():
    """The captions that the page on one's own photographs shows."""
    text = (FOLDER.parent / "docs" / "own_photographs.md").read_text()
    return json.loads(re.search(r"```json\n(.*?)```", text, re.S)[1])


def three():
    """The fewest photographs: two to learn from, and one."""
    images = documented()["images"]
    return {"images": [*images[:2], images[-1]]}


def write_own(folder, content):
    """Writes captions, and features of their images; returns options."""
    (folder / "dataset_own.json").write_text(json.dumps(content))
    ids = [image["imgid"] for image in content["images"]]
    features = np.random.default_rng(0).normal(size=(len(ids), 4, 3))
    save_features(folder / "features.npy", ids, features)
    command = ["--data", "flickr8k", "--root", str(folder), "--epochs", "1"]
    return [*command, "--min-count", "1", "--out", str(folder / "out")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, make",
    [
        ("cooperative_captioning", three),
        ("diverse_captions", three),
        ("distinctive_captions", three),
        ("retriever_ensemble", three),
        ("tradeoff_curve", documented),
    ],
)
def test_a_few_photographs_are_enough(name, make, tmp_path, monkeypatch):
    for paper in (PSST, SLE, WTF_RL):
        settings = paper.settings["flickr8k"]
        short = dataclasses.replace(settings, max_length=5)
        monkeypatch.setitem(paper.settings, "flickr8k", short)
    command = write_own(tmp_path, make())
    if name == "tradeoff_curve":
        command += ["--methods", "psst_multinomial", "--lambdas", "0.001"]
    with run_eagerly():
        if name != "tradeoff_curve":
            # The command would make graphs, which take most of the time.
            monkeypatch.setattr("tensorflow.config.run_functions_eagerly", id)
        assert load(name).main(command) == 0


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_single_photograph_of_a_split_is_told(split, tmp_path, capsys):
    content = three()
    if split == "train":
        del content["images"][0]
    command = write_own(tmp_path, content)
    assert load("tradeoff_curve").main(command) == 2
    said = capsys.readouterr().err
    assert f"two images of {split} at least" in said and "Received: 1" in said
