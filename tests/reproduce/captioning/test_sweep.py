import contextlib
import os

import numpy as np
import pytest
import tensorflow as tf

from reproduce.captioning import CaptioningStudy
from reproduce.captioning import tradeoff_grid
from reproduce.captioning import tradeoff_sweep
from reproduce.captioning.sweep import main
from reproduce.sweep_grid import expand_grid
from tests.reproduce.captioning.tiny_files import grids
from tests.reproduce.captioning.tiny_files import study
from tests.reproduce.captioning.tiny_files import write_files
from tests.reproduce.captioning.tiny_study import TINY
from tests.reproduce.captioning.tiny_study import data

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")
TAIL = ["val"] * 2 + ["test"] * 3


@contextlib.contextmanager
def run_eagerly():
    # A dozen steps cost less than the graphs that would run them.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def test_a_grid_has_lambdas_rhos_and_temperatures_where_they_matter():
    grid = tradeoff_grid(
        ["psst_gumbel", "st_gumbel", "luo2018", "speaker_mle", "g_gan"],
        [1e-3, 2e-3],
        seeds=[0, 1],
        rhos=[0.25, 0.5],
        taus=[1.0, 0.5, 0.1],
    )
    points = expand_grid(grid)
    count = {}
    for point in points:
        count[point["method"]] = count.get(point["method"], 0) + 1
    assert count == {
        "psst_gumbel": 2 * 2 * 2 * 3,
        "st_gumbel": 2 * 2 * 3,
        "luo2018": 2 * 2,
        "speaker_mle": 2,
        "g_gan": 2,
    }
    # Seed by seed, so that a sweep that is stopped has whole curves.
    assert [p["seed"] for p in points] == sorted(p["seed"] for p in points)


def test_methods_are_those_that_are_known():
    with pytest.raises(ValueError, match="`methods` must be among"):
        tradeoff_grid(["psst"])


def test_points_are_those_of_the_study(tmp_path, monkeypatch):
    asked = []

    def result(study, *point):
        asked.append((study.seed, *point))
        return {"cider_d": 1.0}

    name = "reproduce.captioning.study.CaptioningStudy.result"
    monkeypatch.setattr(name, result)
    grid = tradeoff_grid(["psst_multinomial", "speaker_mle"], [1e-3], [0, 1])
    sweep = tradeoff_sweep(tmp_path, data(), TINY, grid, verbose=0)
    assert sweep.work() == 0
    assert asked == [
        (0, "psst_multinomial", 1e-3, None, None),
        (0, "speaker_mle", None, None, None),
        (1, "psst_multinomial", 1e-3, None, None),
        (1, "speaker_mle", None, None, None),
    ]
    with pytest.raises(ValueError, match="same shared"):
        tradeoff_sweep(tmp_path, data(), TINY, grid, split="validation")


def test_finished_points_are_evaluated_again_where_they_are_kept(
    tmp_path, monkeypatch
):
    found = {"cider_d": 1.0}
    name = "reproduce.captioning.study.CaptioningStudy.result"
    monkeypatch.setattr(name, lambda study, *point: dict(found))
    grid = tradeoff_grid(["luo2018"], [1e-3])
    about = tmp_path, data(), TINY, grid, 0
    assert tradeoff_sweep(*about).work() == 0
    found |= {"cider_d": 2.0, "lm_log_prob": -2.0, "beam_lm_log_prob": -3.0}
    assert tradeoff_sweep(*about).work() == 0
    assert "lm_log_prob" not in tradeoff_sweep(*about).records()[0]
    again = tradeoff_sweep(*about, evaluate_again=True)
    assert again.work() == 0
    (record,) = again.records()
    # What was found first stands.
    assert record["cider_d"] == 1.0 and record["beam_lm_log_prob"] == -3.0
    (tmp_path / "seed_0").rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="`evaluate_again`.*without seed_0"):
        tradeoff_sweep(*about, evaluate_again=True)


def test_a_folder_without_data_is_an_error_in_words(tmp_path, capsys):
    command = [str(tmp_path / "out"), "--data", "flickr8k", "--root"]
    assert main([*command, str(tmp_path)]) == 2
    assert "`root` must hold one file dataset_" in capsys.readouterr().err


def test_a_sweep_tells_what_begins_every_epoch_and_recall(tmp_path, capsys):
    grid = tradeoff_grid(["speaker_mle"])
    with run_eagerly():
        tradeoff_sweep(tmp_path, data(), TINY, grid).work()
    lines = capsys.readouterr().out.splitlines()
    told = [
        "[1/1] method=speaker_mle",
        "listener_gt: epoch 1 of 2",
        "listener_gt: epoch 2 of 2",
        "speaker_mle: epoch 1 of 1",
        "speaker_mle: evaluating the test split",
        "[1/1] cider_d",
    ]
    places = [
        next(i for i, line in enumerate(lines) if line.startswith(begin))
        for begin in told
    ]
    assert all(place >= 0 for place in places)
    for name in ("r@1 ", "r@10 ", "fixed_r@10 "):
        assert name in lines[places[-1]]
    # Whole lines, and no bars.
    assert not [line for line in lines if "\r" in line or "\b" in line]


def test_what_is_evaluated_and_learned_from_may_be_told(
    tmp_path, monkeypatch, capsys
):
    root = write_files(tmp_path, splits=["train"] * 5 + ["restval"] + TAIL)
    seen = []

    def work(sweep):
        seen.append(sweep.shared)
        return 0

    monkeypatch.setattr("reproduce.sweep.Sweep.work", work)
    command = ["--data", "flickr8k", "--settings", "quick", "--root", str(root)]
    out = str(tmp_path / "out")
    assert main([out, *command, "--split", "validation"]) == 0
    assert seen[0]["split"] == "validation" and seen[0]["images"] == [5, 3]
    assert "tiny: 5 images of train, 2 images of validation, 3" in (
        capsys.readouterr().out
    )
    more = ["--train-split", "train+restval", "--quiet"]
    assert main([f"{out}2", *command, *more]) == 0
    assert seen[1]["images"] == [6, 3] and seen[1]["split"] == "test"
    assert capsys.readouterr().out == ""
    assert main([out, "--train-split", "train"]) == 2
    assert "must come with data in files" in capsys.readouterr().err


def test_a_speaker_of_another_study_is_taken(tmp_path, monkeypatch):
    root = write_files(tmp_path)
    first = study(root, tmp_path / "first" / "seed_3")
    with run_eagerly():
        wanted = first.networks("speaker_mle")["speaker"].get_weights()
    again = study(root, tmp_path / "second", pretrained=first.directory)

    def never(study):
        raise RuntimeError("trained again")

    monkeypatch.setitem(CaptioningStudy.phases, "speaker_mle", never)
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
        asked.append((args[3], pretrained))

    monkeypatch.setattr(CaptioningStudy, "__init__", init)
    monkeypatch.setattr(CaptioningStudy, "result", lambda *_: {})
    monkeypatch.setattr(CaptioningStudy, "directory", "x/y", raising=False)
    grid = tradeoff_grid(["speaker_mle"], seeds=[0, 1])
    other = str(tmp_path / "other")
    tradeoff_sweep(
        tmp_path, data(), TINY, grid, verbose=0, pretrained=other
    ).work()
    assert asked == [(0, other), (1, os.path.join(other, "seed_1"))]
