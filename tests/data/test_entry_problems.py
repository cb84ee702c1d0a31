"""What a file says against itself is refused."""

import pytest

from tfcap.data import load_captions
from tfcap.data import read_image_ids
from tfcap.data.entry_problems import field
from tfcap.data.entry_problems import listed


def test_the_first_few_are_named_with_the_number_of_the_rest():
    assert listed([1]) == "1"
    assert listed(list(range(5))) == "0, 1, 2, 3, 4"
    assert listed(list(range(1005))) == "0, 1, 2, 3, 4 and 1,000 more"


@pytest.mark.parametrize(
    "entry, told",
    [
        (["a"], "entry 3 there is no object"),
        ({}, "entry 3 `a` is missing"),
        ({"a": None}, "`a` is None and not text"),
        ({"a": 5}, "`a` is 5 and not text"),
    ],
)
def test_a_field_of_another_kind_is_named_with_its_place(entry, told):
    assert field("f.json", "entry 3", {"a": "b"}, "a", "text") == "b"
    with pytest.raises(ValueError, match=f"path='f.json'.*{told}.* Mend it"):
        field("f.json", "entry 3", entry, "a", "text", "Mend it.")


def test_numbers_of_thousands_of_digits_are_names(tmp_path):
    digits = "9" * 5000
    path = tmp_path / "list.txt"
    path.write_text(f"7\n{digits}\n")
    assert read_image_ids(path) == [7, digits]
    path.write_text(f"{digits}_ab.jpg#0\tA dog .\n")
    assert load_captions(path).image_ids == [f"{digits}_ab.jpg"]
