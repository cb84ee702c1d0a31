"""Pairs of axes by the names of metrics, and the line where they are equal."""

import pytest

from tensorboard_plugin_tfcap.axis_presets import axis_presets
from tensorboard_plugin_tfcap.comparison import Comparison
from tensorboard_plugin_tfcap.comparison import Preset
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.shown import Shown
from tensorboard_plugin_tfcap.tradeoff import TradeoffPoint
from tensorboard_plugin_tfcap.tradeoff import named_metric
from tests.tensorboard_plugin_tfcap.views import dataset
from tests.tensorboard_plugin_tfcap.views import selected
from tests.tensorboard_plugin_tfcap.views import traces
from tests.tensorboard_plugin_tfcap.views import viewed

TRUTH = ("truth_precision", "truth_recall")


@pytest.mark.parametrize(
    "names, wanted",
    [
        (("cider_d", "r@10", "truth_recall"), {}),
        (TRUTH, {"truth": TRUTH}),
        (("human_truth_precision", "human_truth_recall"), {}),
        (
            ("beam_truth_precision", "truth_recall", "beam_truth_recall"),
            {"beam_truth": ("beam_truth_precision", "beam_truth_recall")},
        ),
        (
            [f"eval/{name}" for name in TRUTH],
            {"eval/truth": tuple(f"eval/{name}" for name in TRUTH)},
        ),
        (
            ("r@1", "r@10", "strangers_r@1", "strangers_r@10", "fixed_r@10"),
            {"held_out": ("strangers_r@10", "r@10")},
        ),
        (
            [f"beam_{who}r@10" for who in ("", "a_", "fixed_", "strangers_")],
            {"beam_held_out": ("beam_strangers_r@10", "beam_r@10")},
        ),
        (
            ("r@5", "r@10", "clip_r@5", "strangers_r@10_recurrent"),
            {"held_out": ("clip_r@5", "r@5")},
        ),
        (
            ("val_recall_at_10", "val_fixed_r@10", "train_r@10"),
            {"val_held_out": ("val_fixed_r@10", "val_recall_at_10")},
        ),
        (("human_r@10", "human_strangers_r@10", "strangers_r@10"), {}),
        (("image_to_text_r@10", "fixed_image_to_text_r@10"), {}),
    ],
)
def test_pairs_are_offered_where_both_metrics_are(names, wanted):
    presets = axis_presets({name: named_metric(name) for name in names})
    assert {k: (p.x, p.y) for k, p in presets.items()} == wanted


def listeners(scale=1.0, comparison=None):
    """Three points that both kinds of listeners understand ever better."""
    points = [
        TradeoffPoint(
            f"r{place}",
            "mine",
            {"lambda": place},
            metrics={
                **{"r@10": 40.0 + 10 * place, "strangers_r@10": 42.0 * scale},
                **{"truth_precision": 0.9, "truth_recall": 0.1 * place},
            },
        )
        for place in range(3)
    ]
    return dataset(points, comparison=comparison or Comparison())


def test_a_link_sets_both_axes_and_keeps_the_usual_line():
    found = selected(listeners(), preset="truth", value="auto")
    assert (found.x.name, found.y.name) == TRUTH
    assert found.query.value == "auto" and found.line() is not None
    assert Shown(found).title == "Completeness against correctness"
    own = selected(listeners(), preset="truth", y="r@10")
    assert (own.x.name, own.y.name) == ("truth_precision", "r@10")
    with pytest.raises(QueryError, match="one of truth, held_out. Received"):
        selected(listeners(), preset="beam_truth")
    mine = Preset("truth", "Mine", x="r@10", y="truth")
    kept = listeners(comparison=Comparison(presets={"truth": mine})).presets
    assert kept["truth"] is mine and [*kept] == ["truth", "held_out"]


def test_a_diagonal_is_where_both_axes_are_equal():
    view = viewed(listeners(), preset="held_out")
    (line,) = traces(view, "diagonal")
    layout = view["figure"]["layout"]
    low, high = layout["xaxis"]["range"]
    assert layout["yaxis"]["range"] == [low, high]
    assert low < 40 and high > 60 and line["x"] == line["y"]
    assert line["x"][0] < low and line["x"][1] > high
    assert line["name"] == "own listener = held-out listeners"
    assert layout["meta"]["label"].endswith(
        "Dashed: own listener = held-out listeners; 2 of 3 points are above it."
    )
    scales = {"xscale": "log", "yscale": "log"}
    both = viewed(listeners(), preset="held_out", **scales)
    layout = both["figure"]["layout"]
    low, high = layout["xaxis"]["range"]
    assert 10**low < 40 < 60 < 10**high < traces(both, "diagonal")[0]["y"][1]


@pytest.mark.parametrize(
    "about, asked",
    [
        ({}, {"preset": "truth"}),
        ({}, {"preset": "held_out", "xscale": "log"}),
        # Percent, and a share.
        ({"scale": 0.01}, {"preset": "held_out"}),
        ({}, {"x": "r@10", "y": "r@10"}),
    ],
)
def test_no_diagonal_where_the_axes_differ(about, asked):
    assert not traces(viewed(listeners(**about), **asked), "diagonal")
