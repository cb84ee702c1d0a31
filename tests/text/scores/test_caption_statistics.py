"""Vocabulary size, novelty, bad endings and lengths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.scores import naive
from tfcap.text.scores.caption_statistics import BAD_ENDINGS
from tfcap.text.scores.caption_statistics import bad_ending_rate
from tfcap.text.scores.caption_statistics import distinct_n
from tfcap.text.scores.caption_statistics import novelty
from tfcap.text.scores.caption_statistics import repeated_ngrams
from tfcap.text.scores.caption_statistics import vocabulary_size

SAID = [caption for members in naive.SAMPLES for caption in members]
TRAINING = [caption for members in naive.REFERENCES for caption in members]


def test_numbers_are_those_of_the_reference_code():
    golden = naive.GOLDEN["scores"]
    assert vocabulary_size(SAID) == golden["vocabulary_size"]
    assert novelty(SAID, TRAINING).corpus == golden["novelty"]
    found = bad_ending_rate(naive.CANDIDATES).corpus
    assert found == pytest.approx(golden["bad_ending_rate"])
    assert len(BAD_ENDINGS) == 17


def test_novelty_takes_any_iterable_as_training_set():
    scores = novelty([["a"], ["b"]], iter([["a"], ["c"]]))
    assert scores.each.tolist() == [0, 1]


@pytest.mark.parametrize("order", [1, 2])
def test_div_n_gives_the_golden_values_of_the_reference_code(order):
    golden = naive.GOLDEN["scores"][f"distinct_{order}"]
    scores = distinct_n(naive.SAMPLES, order)
    assert scores.corpus == pytest.approx(golden["corpus"], abs=1e-11)
    np.testing.assert_allclose(scores.each, golden["each"], atol=1e-11)


@given(naive.sets, st.integers(1, 5))
def test_div_n_is_that_of_a_loop_over_sets(sets, order):
    scores = distinct_n(sets, order)
    for score, members in zip(scores.each, sets):
        found = {g for words in members for g in naive.ngrams(words, order)}
        wanted = len(found) / (1e-6 + sum(map(len, members)))
        assert score == pytest.approx(wanted, abs=1e-12)


@given(naive.sets)
def test_what_was_said_before_is_counted_once_for_every_time(sets):
    captions = [caption for members in sets for caption in members]
    for order in (1, 2, 4):
        scores = repeated_ngrams(captions, order)
        for caption, found in zip(captions, scores.each):
            counts = naive.ngrams(caption, order)
            again = sum(count - 1 for count in counts.values())
            total = max(sum(counts.values()), 1)
            assert found == pytest.approx(again / total)
        assert scores.corpus == pytest.approx(scores.each.mean())


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="`order` must be an integer"):
        distinct_n([[["a"]]], order=0)
    with pytest.raises(ValueError, match="Received: order=0"):
        repeated_ngrams([["a"]], 0)
