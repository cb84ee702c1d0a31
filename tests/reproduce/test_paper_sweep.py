import os

import numpy as np
import pytest
import tensorflow as tf

from reproduce.captioning import caption_files
from reproduce.captioning.load_data import WORLDS
from reproduce.command import PAPERS
from reproduce.command import main
from reproduce.command import open_paper
from reproduce.experiment import Experiment
from reproduce.paper_sweep import paper_sweep
from reproduce.psst.paper import PSST
from reproduce.sle.paper import SLE
from reproduce.study import write_json
from reproduce.sweep import expand_grid
from reproduce.wtf_rl.paper import WTF_RL
from tests.eager import run_eagerly
from tests.reproduce.captioning.tiny_files import SPLITS
from tests.reproduce.captioning.tiny_files import grids
from tests.reproduce.captioning.tiny_files import study
from tests.reproduce.captioning.tiny_files import write_files
from tests.reproduce.psst.tiny_study import TINY
from tests.reproduce.psst.tiny_study import data
from tests.reproduce.sle.tiny_study import TINY as SLE_TINY

TAIL = ["val"] * 2 + ["test"] * 3


def counts(paper, rows, **axes):
    """Points by row, of two seeds, seed by seed."""
    points = expand_grid(paper.grid(rows, [0, 1], **axes))
    # Seed by seed, so that a sweep that is stopped has whole curves.
    assert [p["seed"] for p in points] == sorted(p["seed"] for p in points)
    found = [p["method"] for p in points]
    return {row: found.count(row) for row in rows}


def test_a_grid_has_numbers_where_they_matter():
    rows = ["psst_gumbel", "st_gumbel", "luo2018", "speaker_mle", "g_gan"]
    axes = {"lambda_": [1e-3, 2e-3], "rho": [0.25, 0.5]}
    axes["temperature"] = [1.0, 0.5, 0.1]
    found = counts(PSST, rows, **axes)
    assert [*found.values()] == [2 * 2 * 2 * 3, 2 * 2 * 3, 2 * 2, 2, 2]
    (human,) = PSST.grid(["gt_on_psst_listener"], **axes)
    assert human["lambda"] == [1e-3]
    rows = ["xe", "sll", "sll_me", "sll_sle"]
    axes = {"alpha": [0.25, 0.5], "rate": [1e-3, 1e-4]}
    found = counts(SLE, rows, entropy_weight=[1e-1, 1e-2, 1e-3], **axes)
    assert [*found.values()] == [2, 2 * 2, 2 * 2 * 3, 2 * 2 * 2]
    rows = ["tf", "wtf_rl", "scst_grammar"]
    for name, many in (("alpha", 1), ("rate", 2), ("reward_shift", 1)):
        found = counts(WTF_RL, rows, **{name: [0.9, 1.0]})
        assert [*found.values()] == [2, 4, 2 * many]
    with pytest.raises(ValueError, match="'rho', which moves no row of sle"):
        SLE.grid(["sll"], rho=[0.5])


@pytest.mark.parametrize("name", PAPERS)
def test_rows_are_those_that_are_known(name):
    paper = open_paper(name)
    with pytest.raises(ValueError, match="`methods` must be among") as found:
        paper.grid(["psst"])
    assert ", ".join(paper.known()) in str(found.value)


@pytest.fixture
def asked(monkeypatch):
    """Points that experiments are asked for, and under which strategy."""
    found = []

    def result(experiment, row, **point):
        scope = tf.distribute.get_strategy()
        found.append((experiment.seed, row, point, scope))
        return {"cider_d": 1.0}

    monkeypatch.setattr(Experiment, "result", result)
    monkeypatch.setattr(Experiment, "report", lambda *row, **point: None)
    return found


def test_points_are_those_of_the_experiment(tmp_path, asked):
    grid = PSST.grid(
        ["psst_multinomial", "speaker_mle"], [0, 1], lambda_=[1e-3]
    )
    about = PSST, tmp_path / "psst", data(), TINY, grid
    assert paper_sweep(*about, verbose=0).work() == 0
    point = {"lambda": 1e-3}
    assert [found[:3] for found in asked] == [
        (0, "psst_multinomial", point),
        (0, "speaker_mle", {}),
        (1, "psst_multinomial", point),
        (1, "speaker_mle", {}),
    ]
    with pytest.raises(ValueError, match="same shared"):
        paper_sweep(*about, split="validation")
    asked.clear()
    grid = SLE.grid(["xe", "sll_sle"], [0, 1], alpha=[0.5])
    about = SLE, tmp_path / "sle", data(), SLE_TINY, grid
    assert paper_sweep(*about, verbose=0).work() == 0
    assert [found[:3] for found in asked[:2]] == [
        (0, "xe", {}),
        (0, "sll_sle", {"alpha": 0.5}),
    ]
    logs = tmp_path / "sle" / "tensorboard"
    assert (logs / "sll_sle" / "alpha=0.5,seed=1").is_dir()


def test_all_points_are_under_the_scope_of_the_caller(tmp_path, asked):
    grid = PSST.grid(["speaker_mle"], [0, 1])
    sweep = paper_sweep(PSST, tmp_path, data(), TINY, grid, verbose=0)
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        assert sweep.work() == 0
    assert [found[-1] for found in asked] == [strategy, strategy]


def test_scores_are_added_to_points_whose_networks_are_kept(
    tmp_path, monkeypatch
):
    found = {"cider_d": 1.0}

    def result(experiment, row, **point):
        place = experiment.paper.place(row, point)
        write_json(experiment.path(place, "result.json"), found)
        return dict(found)

    monkeypatch.setattr(Experiment, "result", result)
    monkeypatch.setattr(Experiment, "report", lambda *_, **__: None)
    grid = PSST.grid(["luo2018"], lambda_=[1e-3])
    about = PSST, tmp_path, data(), TINY, grid, 0
    assert paper_sweep(*about).work() == 0
    found |= {"cider_d": 2.0, "meteor": 0.5}
    assert paper_sweep(*about).work() == 0
    assert "meteor" not in paper_sweep(*about).records()[0]
    # Without its networks it would be trained anew, and two be mixed.
    (tmp_path / "seed_0").rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="`directory`.*without seed_0.points"):
        paper_sweep(*about, metrics=["meteor"])
    (tmp_path / "elsewhere").rename(tmp_path / "seed_0")
    again = paper_sweep(*about, metrics=["meteor"])
    assert again.work() == 0
    (record,) = again.records()
    # What was found first stands.
    assert record["cider_d"] == 1.0 and record["meteor"] == 0.5


@pytest.mark.parametrize("name", PAPERS)
def test_a_folder_without_data_is_an_error_in_words(name, tmp_path, capsys):
    command = [name, "--out", str(tmp_path / "out"), "--data", "flickr8k"]
    assert main(command) == 2
    if "flickr8k" not in open_paper(name).settings:
        told = f"`--data` must be data that {name} has settings for: world"
        assert told in capsys.readouterr().err
        return
    assert "--data flickr8k needs --root" in capsys.readouterr().err
    assert main([*command, "--root", str(tmp_path)]) == 2
    assert "`root` must hold one file dataset_" in capsys.readouterr().err


def test_a_sweep_tells_what_begins_every_epoch_and_recall(tmp_path, capsys):
    grid = PSST.grid(["speaker_mle"])
    with run_eagerly():
        paper_sweep(PSST, tmp_path, data(), TINY, grid).work()
    lines = capsys.readouterr().out.splitlines()
    for begin in (
        "[1/1] method=speaker_mle",
        *("listener_gt: Phase 1", "Epoch 1/2", "Epoch 2/2"),
        *("speaker_mle: Phase 2", "speaker_mle: evaluating the test split"),
    ):
        assert any(line.startswith(begin) for line in lines)
    (last,) = [line for line in lines if line.startswith("[1/1] cider_d")]
    assert "r@1 " in last and ", r@10 " in last and "fixed_r@10 " in last
    # Whole lines, and no bars.
    assert not [line for line in lines if "\r" in line or "\b" in line]


def test_what_is_evaluated_and_learned_from_may_be_told(
    tmp_path, monkeypatch, capsys
):
    root = write_files(tmp_path, splits=["train"] * 5 + ["restval"] + TAIL)
    seen = []

    def work(sweep, **options):
        seen.append(sweep.shared)
        return 0

    monkeypatch.setattr("reproduce.sweep.Sweep.work", work)
    command = ["--data", "flickr8k", "--settings", "quick", "--root", str(root)]
    out = "psst", "--out", str(tmp_path / "out")
    assert main([*out, *command, "--split", "validation"]) == 0
    assert seen[0]["split"] == "validation" and seen[0]["images"] == [5, 3]
    assert "tiny: 5 images of train, 2 images of validation, 3" in (
        capsys.readouterr().out
    )
    more = ["--train-split", "train+restval", "--quiet"]
    assert main([*out[:2], f"{out[2]}2", *command, *more]) == 0
    assert seen[1]["images"] == [6, 3] and seen[1]["split"] == "test"
    assert capsys.readouterr().out == ""
    assert main([*out, "--train-split", "train"]) == 2
    assert "must come with data in files" in capsys.readouterr().err


def test_of_drawn_data_no_more_is_drawn_than_asked_for(tmp_path, monkeypatch):
    drawn = []

    def draw(settings, root, verbose, **sizes):
        drawn.append(sizes)
        raise ValueError("enough")

    monkeypatch.setitem(WORLDS, "world", draw)
    command = ["psst", "--settings", "quick", "--out", str(tmp_path)]
    for more in ([], ["--limit", "train=50,test=4"]):
        assert main([*command, *more]) == 2
    quick = {"train": 64, "val": 8, "test": 16, "encoder_epochs": 1}
    assert drawn == [quick, {**quick, "train": 50, "test": 4}]


def test_a_speaker_of_another_study_is_taken(tmp_path, monkeypatch):
    root = write_files(tmp_path)
    first = study(root, tmp_path / "first" / "seed_3")
    with run_eagerly():
        wanted = first.networks("speaker_mle")["speaker"].get_weights()
    again = study(root, tmp_path / "second", pretrained=first.directory)

    def never(experiment):
        raise RuntimeError("trained again")

    monkeypatch.setitem(PSST.phases, "speaker_mle", never)
    found = again.networks("speaker_mle")["speaker"].get_weights()
    for a, b in zip(wanted, found):
        np.testing.assert_array_equal(a, b)
    # It is a study of its own from now on.
    assert study(root, tmp_path / "second").networks("speaker_mle")
    # What the phase does not read may differ, the rest may not.
    options = {"pretrained": first.directory}
    study(root, tmp_path / "third", clipnorm=3.0, **options)
    for change, told in [
        ({"units": 7}, r"another units \(6, here 7\)"),
        ({"speaker_rate": 0.01}, "another speaker_rate"),
        ({"seed": 4}, "another seed"),
    ]:
        with pytest.raises(ValueError, match=told):
            study(root, tmp_path / "fourth" / told, **change, **options)
    with pytest.raises(ValueError, match="which holds no study.json"):
        study(root, tmp_path / "fifth", pretrained=tmp_path / "none")
    with pytest.raises(ValueError, match="which has no speaker_mle yet"):
        study(root, tmp_path / "sixth", pretrained=tmp_path / "third")
    write_files(tmp_path, grids(seed=1))
    with pytest.raises(ValueError, match="another digest"):
        study(root, tmp_path / "seventh", **options)


def test_each_seed_of_a_sweep_takes_the_study_of_its_seed(
    tmp_path, monkeypatch
):
    (tmp_path / "other" / "seed_1").mkdir(parents=True)
    asked = []

    def init(self, *args, pretrained=None, **options):
        asked.append((args[4], pretrained))

    monkeypatch.setattr(Experiment, "__init__", init)
    monkeypatch.setattr(Experiment, "result", lambda *_, **__: {})
    monkeypatch.setattr(Experiment, "report", lambda *_, **__: None)
    grid = PSST.grid(["speaker_mle"], seeds=[0, 1])
    other = str(tmp_path / "other")
    about = PSST, tmp_path, data(), TINY, grid
    paper_sweep(*about, verbose=0, pretrained=other).work()
    assert asked == [(0, other), (1, os.path.join(other, "seed_1"))]


def test_other_data_of_the_same_size_are_refused(tmp_path):
    root, out = write_files(tmp_path), tmp_path / "sweep"
    grid = [{"method": "speaker_mle", "seed": 0}]

    def sweep():
        data = caption_files(TINY, root)
        return paper_sweep(PSST, out, data, TINY, grid, verbose=0)

    study(root, tmp_path / "one")
    sweep()
    path = root / "dataset_tiny.json"
    path.write_text(path.read_text().replace("number 7", "number 8"))
    with pytest.raises(ValueError, match="settings on the same data"):
        sweep()
    refused = "another study's ids, captions or features. "
    with pytest.raises(ValueError, match=refused):
        study(root, tmp_path / "one")
    # The same images, split otherwise; and features of the same means.
    write_files(root, splits=[*SPLITS[:5], "val", "train", *SPLITS[7:]])
    with pytest.raises(ValueError, match=refused):
        study(root, tmp_path / "one")
    write_files(root, grids()[:, ::-1])
    with pytest.raises(ValueError, match=refused):
        study(root, tmp_path / "one")
