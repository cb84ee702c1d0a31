import os

import numpy as np
import pytest

from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.report import read_log
from tensorboard_plugin_tfcap.samples_view import samples_view
from tensorboard_plugin_tfcap.selection import select
from tensorboard_plugin_tfcap.sources import Sources
from tensorboard_plugin_tfcap.summary import Claim
from tensorboard_plugin_tfcap.summary import Sample
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tensorboard_plugin_tfcap.summary import write_comparison
from tensorboard_plugin_tfcap.summary import write_references


def dataset(folder, **options):
    return Sources(read_log(folder)).chosen().dataset(Query(**options))


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
    found = dataset(tmp_path)
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
    found = dataset(tmp_path, at="best", by="mean_rank")
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
    source = Sources(read_log(tmp_path)).chosen("scalars")
    found = source.dataset(Query())
    assert found.notices == []
    first, second = found.points
    assert (first.method, first.params) == ("mine", about)
    assert (first.seed, second.seed, first.step) == (0, 1, 4)
    assert first.metrics == {"r@10": 60.0, "cider_d": 1.0}
    history = source.dataset(Query(at="common")).histories["0"]
    assert history[0].diverged == ("cider_d",)
    with TradeoffWriter(tmp_path / "2", "mine", scalars=False) as writer:
        writer.point(3, {"r@10": 50.0, "cider_d": 1.0})
    assert len(Sources(read_log(tmp_path)).chosen("scalars")) == 2


def test_the_best_point_is_carried_along(tmp_path):
    with TradeoffWriter(tmp_path, "mine", best_by="mean_rank") as writer:
        for step, rank in enumerate([5.0, 2.0, 4.0]):
            writer.point(step, {"mean_rank": rank, "r@10": 50.0 + step})
    assert dataset(tmp_path).points[0].step == 2
    (best,) = dataset(tmp_path, at="best", by="mean_rank").points
    assert best.step == 1 and best.metrics["mean_rank"] == 2.0


def test_references_are_read_for_themselves(tmp_path):
    found = {"title": "SR-PL", "metrics": {"cider_d": 1.17, "r@10": 80.1}}
    write_references(tmp_path, [found, {**found, "source": "COCO"}])
    known = dataset(tmp_path)
    assert [r.source for r in known.references] == ["", "COCO"]
    assert known.points == []


@pytest.mark.parametrize(
    "lacking, said",
    [
        ({"title": ""}, "must have a `title`, and `metrics`"),
        ({"metrics": {}}, "must have a `title`, and `metrics`"),
        ({"metrics": {"r@10": float("nan")}}, "must have finite numbers"),
        ({"metrics": {"r@10": None}}, "must have finite numbers"),
    ],
)
def test_wrong_references_are_refused_before_a_file_is_there(
    tmp_path, lacking, said
):
    good = {"title": "SR-PL", "metrics": {"r@10": 80.1}}
    for write in (write_references, write_comparison):
        some = [good, {**good, **lacking}]
        with pytest.raises(ValueError, match=f"`references` {said}"):
            write(tmp_path / "log", references=some)
    assert not (tmp_path / "log").exists()


def test_a_step_that_is_none_leaves_no_file(tmp_path):
    with TradeoffWriter(tmp_path / "run", "mine") as writer:
        with pytest.raises(ValueError, match="'last'"):
            writer.samples("last", [Sample(0, "a dog")])
        assert not (tmp_path / "run").exists()
        # What follows is described as the first one.
        writer.samples(1, [Sample(0, "a dog")])
        writer.point(1, {"r@10": 1.0, "cider_d": 1.0})
    assert dataset(tmp_path).points[0].samples


def test_a_writer_that_never_writes_leaves_nothing(tmp_path):
    TradeoffWriter(tmp_path / "run", "mine").close()
    assert os.listdir(tmp_path) == []


def test_a_closed_writer_goes_on_in_another_file(tmp_path):
    writer = TradeoffWriter(tmp_path, "mine")
    for step in (1, 2):
        writer.point(step, {"r@10": step, "cider_d": 1.0})
        writer.close()
    (history,) = dataset(tmp_path, at="common").histories.values()
    assert [p.step for p in history] == [1, 2]


@pytest.mark.parametrize(
    "options, error",
    [
        ({"method": 3}, TypeError),
        ({"method": "a", "params": {"lambda": None}}, TypeError),
        ({"method": "a", "seed": [1]}, TypeError),
        (
            {"method": "a", "metrics": [{"name": "b", "better": "more"}]},
            ValueError,
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(tmp_path, options, error):
    with pytest.raises(error, match="must be"):
        TradeoffWriter(tmp_path, **options)


def test_a_point_without_a_number_is_refused(tmp_path):
    writer = TradeoffWriter(tmp_path, "mine")
    with pytest.raises(ValueError, match="must have a number"):
        writer.point(0, {"x": None, "y": True})


def test_a_run_that_diverges_goes_on_and_is_named(tmp_path):
    for run, last in (("good", 60.0), ("bad", float("nan"))):
        with TradeoffWriter(tmp_path / run, "mine", seed=run) as writer:
            writer.point(0, {"cider_d": 1.0, "r@10": 50.0})
            writer.point(1, {"cider_d": last, "r@10": last})
    found = dataset(tmp_path)
    assert [p.diverged for p in found.points] == [("cider_d", "r@10"), ()]
    said = "1 of 2 runs ends in NaN or infinity: bad (cider_d, r@10)."
    assert found.notices == dataset(tmp_path, at="best").notices == [said]
    notices = select(found, Query()).notices
    assert any("mine: 1 of 2 points are NaN or infinite" in n for n in notices)


def test_the_best_of_a_resumed_run_is_that_of_all_its_steps(tmp_path):
    for step, rank in enumerate([2.0, 5.0, 4.0]):
        with TradeoffWriter(tmp_path, "mine", best_by="mean_rank") as writer:
            writer.point(step, {"mean_rank": rank, "r@10": 50.0})
    (best,) = dataset(tmp_path, at="best", by="mean_rank").points
    assert best.step == 0
    other = {"at": "best", "by": "mean_rank", "higher": ("mean_rank",)}
    assert dataset(tmp_path, **other).points[0].step == 1
    with pytest.raises(ValueError, match="known which way it is better"):
        TradeoffWriter(tmp_path, "mine", best_by="novelty")


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
    (point,) = dataset(tmp_path).points
    assert (point.params, point.seed) == (words, "nan")
    source = Sources(read_log(tmp_path)).chosen("scalars")
    assert source.dataset(Query()).points[0].params == words


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
