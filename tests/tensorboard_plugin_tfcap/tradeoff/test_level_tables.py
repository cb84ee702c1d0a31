import csv
import io
from dataclasses import replace

import pytest

from tensorboard_plugin_tfcap.tradeoff.curve_groups import group_points
from tensorboard_plugin_tfcap.tradeoff.level_tables import level_table
from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
from tests.tensorboard_plugin_tfcap.tradeoff.points import line

NATURAL, RECALL, RANK = map(named_metric, ("cider_d", "r@10", "mean_rank"))


def table(points, columns, fixed, at, **options):
    groups, _ = group_points(points, "lambda")
    return level_table(
        "level", groups, columns, fixed, at, order="lambda", **options
    )


def test_each_seed_is_read_off_by_itself_and_the_best_is_bold():
    found = table([*line("a"), *line("b", 4.0)], [RECALL, RANK], NATURAL, 1.5)
    assert found.head == ["", "recall@10", "mean rank", "seeds"]
    cells = ["56.0 [43.3, 68.7]", "60.0 [47.3, 72.7]"]
    assert [row[1] for row in found.rows] == cells
    # Of ranks, the least.
    assert found.best == [[1, 1], [1, 2]]
    assert f"**{cells[1]}**" in found.markdown()
    assert rf"\textbf{{{cells[1]}}}" in found.latex()


def test_naturalness_is_read_off_at_a_recall():
    found = table(line("a"), [NATURAL], RECALL, 55.0)
    assert found.rows[0][1].startswith("1.600 [")
    assert found.title == "at recall@10 = 55" and found.best == []


def test_who_does_not_go_there_has_no_value():
    found = table(line("a"), [RECALL], NATURAL, 3.0)
    assert found.rows == [["a", "\u2014", "0/2"]]
    assert found.notes[3:] == [
        "a: 2 of 2 seeds do not go there; CIDEr-D is 1 to 2."
    ]


def test_a_table_says_over_which_points_it_reads():
    points = line("a", seeds=(0,), weights=(0.1, 0.2, 0.3))
    del points[1].metrics["r@10"]
    found = table(points, [RECALL, RANK], NATURAL, 1.5)
    assert found.notes[3:] == [
        "recall@10: a: 1 of 3 points lack cider_d and r@10, and are left out."
    ]
    alone = table(points, [RECALL], NATURAL, 1.5)
    assert alone.notes[3].startswith("a: 1 of 3 points lack")
    points[1] = replace(points[1], metrics={}, diverged=("cider_d",))
    found = table(points, [RECALL, RANK], NATURAL, 1.5)
    assert found.notes[3:] == [
        "a: 1 of 3 points are NaN or infinite in cider_d, and are left out."
    ]


def test_every_table_says_what_it_reads_and_in_what_brackets():
    points = line("a")
    # There and back, and there again.
    more = [
        replace(p, params={"lambda": p.params["lambda"] + 0.2}) for p in points
    ]
    found = table([*points, *more], [RECALL], NATURAL, 1.5, level=0.9)
    assert "90 % interval of the mean by Student's t" in found.notes[0]
    assert found.notes[1] == "Better: higher."
    assert "at the last crossing along \u03bb" in found.notes[2]
    assert found.notes[3] == (
        "a: 2 of 2 seeds cross it more than once, up to 3 times."
    )
    assert found.notes[2] in found.markdown()
    other = table(points, [NATURAL], RECALL, 55.0)
    assert "at the first crossing along \u03bb" in other.notes[2]


def test_csv_has_a_number_of_each_seed():
    found = table(line("=a"), [RECALL], NATURAL, 1.5, baseline="=a")
    one, two = csv.DictReader(io.StringIO(found.csv()))
    assert (one["seed"], one["value"], two["value"]) == ("0", "55.0", "57.0")
    assert one["method"] == "'=a" and one["metric"] == "r@10"
    assert (one["mean"], one["level"], one["n"]) == ("56.0", "0.95", "2")
    assert (one["crossing"], one["crossings"]) == ("last", "1")


def test_nothing_is_bold_where_nobody_knows_what_is_better():
    unknown = replace(RANK, better="unknown")
    found = table([*line("a"), *line("b", 4.0)], [unknown], NATURAL, 1.5)
    assert found.best == [] and "Better: unknown." in found.notes[1]


def test_differences_are_of_the_same_seeds():
    points = [*line("a"), *line("b", 4.0, seeds=(1,))]
    found = table(points, [RECALL], NATURAL, 1.5, baseline="a")
    assert found.head[2] == "\u0394 recall@10"
    assert [row[2] for row in found.rows] == ["\u2014", "+4.0"]


@pytest.mark.parametrize("method", ["a|b", "<b>", "x_y & z"])
def test_names_break_no_table(method):
    found = table(line(method), [RECALL], NATURAL, 1.5)
    lines = found.markdown().splitlines()
    assert lines[4].replace(r"\|", "").count("|") == 4
    column = replace(RECALL, title=method)
    head = table(line("a"), [column], NATURAL, 1.5).markdown().splitlines()[2]
    assert head.replace(r"\|", "").count("|") == 4
    assert r"x\_y \& z" in found.latex() or "x_y" not in method
