import pytest

from tfcap.data.split_lists import choose_splits

COUNTS = {"train": 6000, "val": 1, "test": 2}


def test_names_come_in_a_list_or_joined_by_a_plus():
    assert choose_splits("val", COUNTS, "f") == ["val"]
    assert choose_splits("val+train", COUNTS, "f") == ["val", "train"]
    assert choose_splits(("test", "val"), COUNTS, "f") == ["test", "val"]


def test_one_split_needs_no_name():
    assert choose_splits(None, {"": 3}, "f") == [""]
    with pytest.raises(ValueError, match=r"several.*'f'.*'train' \(6,000\)"):
        choose_splits(None, COUNTS, "f")


@pytest.mark.parametrize("wrong", ["dev", "val+dev", "", [], ["val", "x"]])
def test_names_must_be_there(wrong):
    with pytest.raises(ValueError, match="must name splits of the file"):
        choose_splits(wrong, COUNTS, "f")
