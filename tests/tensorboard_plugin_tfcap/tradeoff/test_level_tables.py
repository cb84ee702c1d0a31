import pytest

from tensorboard_plugin_tfcap.tradeoff.curve_groups import group_points
from tensorboard_plugin_tfcap.tradeoff.level_tables import level_table
from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
from tests.tensorboard_plugin_tfcap.tradeoff.points import line

NATURAL, RECALL, RANK = map(named_metric, ("cider_d", "r@10", "mean_rank"))


def table(points, columns, fixed, at, of="recall", **options):
    groups, _ = group_points(points, "lambda")
    return level_table(
        "level", groups, columns, fixed, at, order="lambda", of=of, **options
    )


def test_each_seed_is_read_off_by_itself():
    found = table([*line("a"), *line("b", 4.0)], [RECALL, RANK], NATURAL, 1.5)
    assert found.head == ["", "recall@10", "mean rank", "seeds"]
    assert [row[1] for row in found.rows] == [
        "56.0 [43.3, 68.7]",
        "60.0 [47.3, 72.7]",
    ]


def test_the_best_is_the_least_where_less_is_better():
    found = table([*line("a"), *line("b", 4.0)], [RECALL, RANK], NATURAL, 1.5)
    assert found.best == [[1, 1], [1, 2]]
    assert "**60.0 [47.3, 72.7]**" in found.markdown()
    assert r"\textbf{60.0 [47.3, 72.7]}" in found.latex()


def test_naturalness_is_read_off_at_a_recall():
    found = table(line("a"), [NATURAL], RECALL, 55.0, of="naturalness")
    assert found.rows[0][1].startswith("1.600 [")
    assert found.title == "at recall@10 = 55" and found.best == []


def test_who_does_not_go_there_has_no_value():
    found = table(line("a"), [RECALL], NATURAL, 3.0)
    assert found.rows == [["a", "\u2014", "0/2"]]
    assert found.notes == [
        "a: 2 of 2 seeds do not go there; CIDEr-D is 1 to 2."
    ]


def test_differences_are_of_the_same_seeds():
    found = table(
        [*line("a"), *line("b", 4.0, seeds=(1,))],
        [RECALL],
        NATURAL,
        1.5,
        baseline="a",
    )
    assert found.head[2] == "\u0394 recall@10"
    assert [row[2] for row in found.rows] == ["\u2014", "+4.0"]


@pytest.mark.parametrize("method", ["a|b", "<b>", "x_y & z"])
def test_names_break_no_table(method):
    found = table(line(method), [RECALL], NATURAL, 1.5)
    lines = found.markdown().splitlines()
    assert lines[4].replace(r"\|", "").count("|") == 4
    assert r"x\_y \& z" in found.latex() or "x_y" not in method
