import numpy as np
import pytest

from tfcap.text.rewards.score_texts import score_texts
from tfcap.text.scores.scores import Scores


def asked(captions, references):
    """What is asked of a score, and what becomes of its answer."""
    calls = []

    def score(candidates, references):
        calls.append((candidates, references))
        return Scores(0.0, np.arange(len(candidates)) + 1.0)

    found = score_texts(score, captions, references)
    return calls, found.tolist()


def test_captions_are_split_as_an_evaluation_splits_them():
    calls, found = asked(
        ["A dog's bed.", "two dogs"], [["The dog, asleep!"], ["Dogs", "two"]]
    )
    (call,) = calls
    assert call == (
        [["a", "dog", "'s", "bed"], ["two", "dogs"]],
        [[["the", "dog", "asleep"]], [["dogs"], ["two"]]],
    )
    assert found == [1.0, 2.0]


def test_nothing_is_worth_nothing():
    calls, found = asked(["", "a dog", "a cat", "."], [["a"], [], ["a"], ["a"]])
    assert calls == [([["a", "cat"]], [[["a"]]])]
    assert found == [0.0, 0.0, 1.0, 0.0]
    assert asked(["", ""], [["a"], []]) == ([], [0.0, 0.0])


def test_errors_of_the_score_are_those_of_the_function():
    def score(candidates, references):
        raise OSError("no such parser")

    with pytest.raises(OSError, match="no such parser"):
        score_texts(score, ["a"], [["a"]])
