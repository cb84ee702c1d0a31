import pytest

from tfcap.data import CaptionSplit
from tfcap.data.split_lists import choose_splits
from tfcap.data.split_lists import take_splits

NAMES = ["a.gif", "b.gif", "c.gif"]


@pytest.fixture
def whole(tmp_path):
    texts = [[f"this is {name}"] for name in NAMES]
    return CaptionSplit(
        [1, 2, 3], texts, NAMES, [""] * 3, source=str(tmp_path / "captions")
    )


@pytest.fixture
def write(tmp_path):
    def write(name, *lines):
        path = tmp_path / "splits" / f"{name}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return write


def test_without_a_split_all_are_taken(whole):
    assert take_splits(whole, None) is whole


def test_own_lists_lie_below_the_folder_of_the_captions(whole, write):
    write("test", "c.gif", "a")
    some = take_splits(whole, "test")
    assert some.image_ids == [1, 3] and some.splits == ["test"] * 2
    with pytest.raises(ValueError, match=r"'test' \(2\)"):
        take_splits(whole, "train")


def test_without_lists_there_is_no_split(whole):
    with pytest.raises(ValueError, match="`split` must be left out.*`select"):
        take_splits(whole, "train")


def test_an_image_in_two_lists_is_told(whole, write):
    write("train", "a", "b")
    write("test", "b.gif")
    told = r"'b.gif' is in another split, too"
    with pytest.raises(ValueError, match=told):
        take_splits(whole, "test")


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
