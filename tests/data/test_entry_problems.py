import pytest

from tfcap.data.entry_problems import EntryProblems
from tfcap.data.entry_problems import listed


def test_the_first_few_are_named_with_the_number_of_the_rest():
    assert listed([1]) == "1"
    assert listed(list(range(5))) == "0, 1, 2, 3, 4"
    assert listed(list(range(1005))) == "0, 1, 2, 3, 4 and 1,000 more"


def test_all_kinds_of_problems_are_told_at_once():
    problems = EntryProblems("f.json")
    problems.check()
    for i in range(8):
        problems.add("`a` is missing", f"entry {i}", "Add it.")
    problems.add("`b` is no text", "entry 9", "Mend it.")
    with pytest.raises(ValueError) as caught:
        problems.check()
    assert str(caught.value).endswith(
        "Received: path='f.json', where `a` is missing in 8 places (entry 0, "
        "entry 1, entry 2, entry 3, entry 4 and 3 more); `b` is no text in 1 "
        "place (entry 9). Add it. Mend it."
    )
