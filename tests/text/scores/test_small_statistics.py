"""Vocabulary size, novelty, bad endings and lengths."""

import numpy as np
import pytest

import tfcap
from tests.text.scores import naive

SAID = [caption for members in naive.SAMPLES for caption in members]
TRAINING = [caption for members in naive.REFERENCES for caption in members]


def test_vocabulary_size_counts_distinct_words():
    wanted = naive.GOLDEN["scores"]["vocabulary_size"]
    assert tfcap.text.vocabulary_size(SAID) == wanted


def test_novelty_counts_distinct_captions_of_all():
    scores = tfcap.text.novelty(SAID, TRAINING)
    assert scores.corpus == naive.GOLDEN["scores"]["novelty"]


def test_novelty_takes_any_iterable_as_training_set():
    scores = tfcap.text.novelty([["a"], ["b"]], iter([["a"], ["c"]]))
    assert scores.each.tolist() == [0, 1]


def test_novelty_refuses_captions_that_are_not_tokenized():
    with pytest.raises(TypeError, match="lists of words"):
        tfcap.text.novelty([["a", "dog"]], ["a dog"])


def test_bad_endings_are_those_of_the_reference_code():
    scores = tfcap.text.bad_ending_rate(naive.CANDIDATES)
    wanted = naive.GOLDEN["scores"]["bad_ending_rate"]
    assert scores.corpus == pytest.approx(wanted)
    assert len(tfcap.text.BAD_ENDINGS) == 17


def test_bad_endings_may_be_other_words_or_ids():
    scores = tfcap.text.bad_ending_rate([[4, 5], [5, 4], []], endings=[4])
    assert scores.each.tolist() == [0, 1, 0]


def test_length_statistics_describe_the_lengths():
    found = tfcap.text.length_statistics(SAID)
    lengths = [len(caption) for caption in SAID]
    np.testing.assert_array_equal(found.each, lengths)
    assert found.mean == pytest.approx(np.mean(lengths))
    assert found.standard_deviation == pytest.approx(np.std(lengths))
    assert found.median == np.median(lengths)
    assert (found.shortest, found.longest) == (min(lengths), max(lengths))
