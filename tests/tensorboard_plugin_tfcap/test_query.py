import pytest

from tensorboard_plugin_tfcap.comparison import Preset
from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.query import parse_query
from tensorboard_plugin_tfcap.query import whole_number
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.selection import with_preset


def test_nothing_asked_is_the_default():
    assert parse_query({}) == parse_query({"x": "", "page": "3"}) == Query()


def test_arguments_are_read_as_what_they_are():
    found = parse_query(
        {"level": "0.9", "refs": "1", "step": "7", "curve": "a,,b", "y": "r@1"}
    )
    assert (found.level, found.refs, found.step) == (0.9, True, 7)
    assert found.curve == ("a", "b") and found.y == "r@1"


@pytest.mark.parametrize("text", ["-1", "1.5", "x", "", "\u0663", "9" * 9])
def test_pages_are_counted_from_zero(text):
    with pytest.raises(QueryError, match="whole number from 0"):
        whole_number("page", text)


def test_a_preset_fills_what_is_not_asked():
    about = {"x": "cider_d", "y": "r@5", "along": "y", "value": 80.0}
    presets = {"table1": Preset("table1", "Table 1", **about)}
    found = with_preset(Query(preset="table1", value=70.0), presets)
    assert (found.x, found.y, found.along) == ("cider_d", "r@5", "y")
    assert found.value == 70.0
    assert with_preset(Query(preset="-"), presets) == Query(preset="-")
    with pytest.raises(QueryError, match="`preset` must be one of table1"):
        with_preset(Query(preset="table3"), presets)
