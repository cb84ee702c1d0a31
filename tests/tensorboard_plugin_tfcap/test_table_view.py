from tensorboard_plugin_tfcap.table_view import level_tables
from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint
from tests.tensorboard_plugin_tfcap.views import selected


def measured(*names, **asked):
    """A selection of two points that have metrics of these names."""
    points = [
        TradeoffPoint(
            f"run{place}",
            "mine",
            {"lambda": float(place)},
            metrics={"cider_d": 1.0 - place, **dict.fromkeys(names, 50.0)},
        )
        for place in (0, 1)
    ]
    return selected(points, **asked)


def heads(selection):
    line = {"along": "x", "value": 0.5}
    found = level_tables(selection, line)
    return {name: table.head[1:-1] for name, table in found.items()}


def test_recall_by_all_listeners_stands_side_by_side():
    names = "r@10", "fixed_r@10", "mean_rank", "fixed_mean_rank", "human_r@10"
    selection = measured(*names, "lm_log_prob", "beam_r@10")
    assert selection.y.name == "fixed_r@10"
    assert heads(selection) == {
        "level": [
            "recall@10, fixed listener",
            "recall@10",
            "mean rank, fixed listener",
        ],
        "other": ["log prob / word"],
    }
    own = heads(measured(*names, y="r@10"))["level"]
    assert own == ["recall@10, fixed listener", "recall@10", "mean rank"]


def test_recall_of_another_decoding_is_apart():
    names = "r@10", "fixed_r@10", "beam_r@10", "beam_fixed_r@10"
    found = heads(measured(*names, y="beam_r@10"))["level"]
    assert found == [
        "recall@10, beam search",
        "recall@10, fixed listener, beam search",
    ]


def test_metrics_below_a_folder_have_their_roles():
    names = "val/r@10", "val/Recall@1", "val/mean_rank", "train/r@10"
    found = heads(measured(*names, y="val/r@10"))["level"]
    assert found == ["val/recall@1", "val/recall@10", "val/mean rank"]
