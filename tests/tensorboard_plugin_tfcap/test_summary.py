import os

import numpy as np
import pytest

from tensorboard_plugin_tfcap.report import read_log
from tensorboard_plugin_tfcap.samples_view import samples_view
from tensorboard_plugin_tfcap.summary import Claim
from tensorboard_plugin_tfcap.summary import Sample
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tensorboard_plugin_tfcap.summary import write_references
from tests.tensorboard_plugin_tfcap.views import logged
from tests.tensorboard_plugin_tfcap.views import selected


def test_what_is_written_is_read(tmp_path):
    with TradeoffWriter(
        tmp_path / "run",
        "mine",
        {"lambda": np.float32(0.5), "kind": "a"},
        seed=np.int64(3),
        split="test",
        metrics=[{"name": "energy", "better": "lower", "title": "Energy"}],
    ) as writer:
        writer.point(7, {"energy": np.float32(2.0), "r@10": 50, "bad": np.nan})
    found = logged(tmp_path)
    (point,) = found.points
    assert point.params == {"lambda": 0.5, "kind": "a", "split": "test"}
    assert (point.seed, point.step, point.method) == (3, 7, "mine")
    assert point.metrics == {"energy": 2.0, "r@10": 50.0}
    assert found.metrics["energy"].better == "lower"
    assert found.metrics["energy"].title == "Energy"


def test_runs_without_a_best_point_are_named(tmp_path):
    for name in ("a", "b"):
        with TradeoffWriter(tmp_path / name, "mine") as writer:
            for step in (1, 2):
                rank = {"mean_rank": 5.0 + step} if name == "a" else {}
                writer.point(step, {"cider_d": 1.0, "r@10": 50.0, **rank})
    found = logged(tmp_path, at="best", by="mean_rank")
    assert {p.run: p.step for p in found.points} == {"a": 1, "b": 2}
    assert found.notices == [
        "Best by mean rank: no step of b has it, so the last one is drawn."
    ]


def test_points_are_shown_by_the_other_tabs(tmp_path):
    about = {"lambda": 0.5, "kind": "a"}
    for seed in (0, 1):
        with TradeoffWriter(
            tmp_path / str(seed), "mine", about, seed
        ) as writer:
            writer.point(3, {"r@10": 50.0, "cider_d": np.nan})
            writer.point(4, {"r@10": 60.0 + seed, "cider_d": 1.0})
    found = logged(tmp_path, "scalars")
    assert found.notices == []
    first, second = found.points
    assert (first.method, first.params) == ("mine", about)
    assert (first.seed, second.seed, first.step) == (0, 1, 4)
    assert first.metrics == {"r@10": 60.0, "cider_d": 1.0}
    history = logged(tmp_path, "scalars", at="common").histories["0"]
    assert history[0].diverged == ("cider_d",)
    with TradeoffWriter(tmp_path / "2", "mine", scalars=False) as writer:
        writer.point(3, {"r@10": 50.0, "cider_d": 1.0})
    assert len(logged(tmp_path, "scalars").points) == 2


def test_what_matters_first_is_in_the_first_group_of_cards(tmp_path):
    scores = {"bleu_1": 0.7, "human_r@1": 9.0, "fixed_r@1": 8.0, "mine": 1.0}
    with TradeoffWriter(tmp_path, "mine") as writer:
        writer.point(1, scores, {"a/loss": 0.1, "cider_d/std": 0.2})
    (tags,) = read_log(tmp_path).scalars().values()
    assert sorted(tags) == [
        *("Scores/fixed_r@1", "Scores/mine", "Scores/train_a_loss"),
        *("human/r@1", "language/bleu_1", "train/cider_d/std"),
    ]


def test_references_are_read_for_themselves(tmp_path):
    found = {"title": "SR-PL", "metrics": {"cider_d": 1.17, "r@10": 80.1}}
    write_references(tmp_path, [found, {**found, "source": "COCO"}])
    known = logged(tmp_path)
    assert [r.source for r in known.references] == ["", "COCO"]
    assert known.points == []


def test_a_step_that_is_none_leaves_no_file(tmp_path):
    with TradeoffWriter(tmp_path / "run", "mine") as writer:
        with pytest.raises(ValueError, match="'last'"):
            writer.samples("last", [Sample(0, "a dog")])
        assert not (tmp_path / "run").exists()
        # What follows is described as the first one.
        writer.samples(1, [Sample(0, "a dog")])
        writer.point(1, {"r@10": 1.0, "cider_d": 1.0})
    assert logged(tmp_path).points[0].samples


def test_a_writer_that_never_writes_leaves_nothing(tmp_path):
    TradeoffWriter(tmp_path / "run", "mine").close()
    assert os.listdir(tmp_path) == []


def test_a_closed_writer_goes_on_in_another_file(tmp_path):
    writer = TradeoffWriter(tmp_path, "mine")
    for step in (1, 2):
        writer.point(step, {"r@10": step, "cider_d": 1.0})
        writer.close()
    (history,) = logged(tmp_path, at="common").histories.values()
    assert [p.step for p in history] == [1, 2]


def test_a_run_that_diverges_goes_on_and_is_named(tmp_path):
    for run, last in (("good", 60.0), ("bad", float("nan"))):
        with TradeoffWriter(tmp_path / run, "mine", seed=run) as writer:
            writer.point(0, {"cider_d": 1.0, "r@10": 50.0})
            writer.point(1, {"cider_d": last, "r@10": last})
    found = logged(tmp_path)
    assert [p.diverged for p in found.points] == [("cider_d", "r@10"), ()]
    said = "1 of 2 runs ends in NaN or infinity: bad (cider_d, r@10)."
    assert found.notices == logged(tmp_path, at="best").notices == [said]
    notices = selected(found).notices
    assert any("mine: 1 of 2 points are NaN or infinite" in n for n in notices)


def test_the_best_point_is_carried_along_where_a_run_is_resumed(tmp_path):
    for step, rank in enumerate([2.0, 5.0, 4.0]):
        with TradeoffWriter(tmp_path, "mine", best_by="mean_rank") as writer:
            writer.point(step, {"mean_rank": rank, "r@10": 50.0})
    (best,) = logged(tmp_path, at="best", by="mean_rank").points
    assert best.step == 0 and best.metrics["mean_rank"] == 2.0
    assert logged(tmp_path).points[0].step == 2
    other = {"at": "best", "by": "mean_rank", "higher": ("mean_rank",)}
    assert logged(tmp_path, **other).points[0].step == 1


def test_pictures_are_small(tmp_path):
    picture = np.random.default_rng(0).random((400, 300, 3))
    sample = Sample(1, "a dog", image=picture, scores={"cider_d": np.nan})
    with TradeoffWriter(tmp_path, "mine") as writer:
        writer.point(0, {"r@10": 1.0, "cider_d": 1.0})
        writer.samples(0, [sample] * 40)
    (file,) = os.listdir(tmp_path)
    # Of 40 pictures, 32 are kept, of 128 pixels.
    assert os.path.getsize(tmp_path / file) < 400_000


def test_a_setting_that_is_not_finite_is_a_word(tmp_path):
    about = {"clip": float("inf"), "low": np.float32("-inf"), "k": 2.0}
    with TradeoffWriter(tmp_path, "mine", about, float("nan")) as writer:
        writer.point(0, {"r@10": 1.0, "cider_d": 1.0})
    words = {"clip": "inf", "low": "-inf", "k": 2.0}
    (point,) = logged(tmp_path).points
    assert (point.params, point.seed) == (words, "nan")
    assert logged(tmp_path, "scalars").points[0].params == words


def test_samples_within_their_limits_are_read(tmp_path):
    claims = [Claim("x" * 200, True)] * 64
    more = {"claims": claims, "missing": ["y" * 300] * 70}
    human = ["z" * 3000] * 12
    samples = [Sample(i, "w" * 2500, human=human, **more) for i in range(20)]
    samples += [Sample(i, "a dog") for i in range(20, 300)]
    with TradeoffWriter(tmp_path, "mine") as writer:
        writer.point(0, {"r@10": 1.0, "cider_d": 1.0})
        writer.samples(0, samples)
        with pytest.raises(ValueError, match="200 samples of .* Write fewer"):
            writer.samples(1, samples[:20] * 10)
    about = {"method": "mine", "label": ""}
    view = samples_view(read_log(tmp_path), ".", 0, 0, about)
    assert view["notices"] == [] and view["pages"] == 25
    first = view["items"][0]
    assert (len(first["caption"]), len(first["human"])) == (2000, 10)
    assert first["claims"]["count"] == len(first["missing"]) == 64
