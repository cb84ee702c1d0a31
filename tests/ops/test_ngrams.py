import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from tfcap._ops import ngram_counts
from tfcap._ops import sentence_lengths
from tfcap._ops import words_only

RNG = np.random.default_rng(0)
sentences = st.lists(st.integers(0, 3), max_size=9)


def padded(sentence, length):
    return np.array(sentence + [-1] * (length - len(sentence)), "int32")


def by_loops(words, others, order):
    """How often the n-gram at each word occurs in the other sentence."""
    grams = [tuple(others[j : j + order]) for j in range(len(others))]
    return [
        grams.count(tuple(words[i : i + order]))
        if i + order <= len(words)
        else 0
        for i in range(len(words))
    ]


@settings(max_examples=60, deadline=None)
@given(sentences, sentences, st.integers(9, 11))
def test_counts_are_those_of_loops(words, others, length):
    found = ngram_counts(padded(words, length), padded(others, length))
    for order in range(1, 5):
        wanted = by_loops(words, others, order)
        row = np.asarray(found[order - 1])
        np.testing.assert_array_equal(row[: len(words)], wanted)
        assert not row[len(words) :].any()


@pytest.mark.parametrize("length", [30, 31, 32, 50])
def test_long_sentences_are_counted_as_exactly(length):
    words = RNG.integers(0, 3, (4, length)).astype("int32")
    others = RNG.integers(0, 3, (4, length)).astype("int32")
    found = np.asarray(ngram_counts(words, others))
    for row, one, two in zip(found, words.tolist(), others.tolist()):
        for order in range(1, 5):
            np.testing.assert_array_equal(
                row[order - 1], by_loops(one, two, order)
            )


def test_leading_axes_broadcast():
    words = RNG.integers(0, 3, (2, 3, 5)).astype("int32")
    others = RNG.integers(0, 3, (2, 4, 6)).astype("int32")
    found = ngram_counts(words[:, :, None], others[:, None], max_order=2)
    assert found.shape == (2, 3, 4, 2, 5)
    one = ngram_counts(words[1, 2], others[1, 3], max_order=2)
    np.testing.assert_array_equal(found[1, 2, 3], one)


@pytest.mark.parametrize("jit", [False, True])
def test_unknown_lengths_are_counted_as_exactly(jit):
    words = RNG.integers(-1, 3, (4, 6)).astype("int32")
    spec = tf.TensorSpec([None, None], "int32")
    graph = tf.function(
        ngram_counts,
        input_signature=[spec, spec],
        jit_compile=jit,
        autograph=False,
    )
    np.testing.assert_array_equal(
        graph(words, words[::-1]), ngram_counts(words, words[::-1])
    )


def test_more_orders_than_words():
    found = ngram_counts(np.array([[5, 5]]), np.array([[5]]), max_order=4)
    np.testing.assert_array_equal(found, [[[1, 1], [0, 0], [0, 0], [0, 0]]])


def test_absent_words_equal_nothing():
    absent = np.full((1, 3), -1)
    assert not np.any(ngram_counts(absent, absent))
    assert not np.any(ngram_counts(np.full((1, 3), -2), np.full((1, 3), -5)))


def test_words_are_what_the_mask_leaves():
    words = words_only(np.array([[7, 0, 9]]), np.array([[1.0, 1.0, 0.0]]))
    np.testing.assert_array_equal(words, [[7, 0, -1]])
    np.testing.assert_array_equal(sentence_lengths(words), [2.0])
