import pytest

from reproduce.visdial.answer_statistics import answer_statistics


def test_counts_by_hand():
    said = ["no", "No", "yes, it is", "yes", "a red hat", "can't tell"]
    got = answer_statistics(said, corpus=["no", "can't tell", "blue", "yes"])
    assert got == pytest.approx(
        {
            "count": 6,
            "distinct": 5,
            "distinct_share": 5 / 6,
            "corpus_share": 4 / 6,
            # "yes , it is" has four tokens, "ca n't tell" three.
            "mean_length": (1 + 1 + 4 + 1 + 3 + 3) / 6,
            "yes_no_share": 3 / 6,
        }
    )


def test_generators_are_read_once():
    got = answer_statistics((x for x in ["yes"]), (x for x in ["yes"]))
    assert got["corpus_share"] == 1.0


def test_no_answers_are_refused():
    with pytest.raises(ValueError, match="`answers` must not be empty"):
        answer_statistics([], ["yes"])
