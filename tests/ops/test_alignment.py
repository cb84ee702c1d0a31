import functools

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from tfcap._ops import common_subsequence
from tfcap._ops import edit_distance

RNG = np.random.default_rng(0)
sentences = st.lists(st.integers(0, 3), max_size=7)


def common_by_loops(one, two):
    @functools.cache
    def common(i, j):
        if not i or not j:
            return 0
        if one[i - 1] == two[j - 1]:
            return common(i - 1, j - 1) + 1
        return max(common(i - 1, j), common(i, j - 1))

    return common(len(one), len(two))


def edits_by_loops(one, two):
    @functools.cache
    def edits(i, j):
        if not i or not j:
            return i + j
        return min(
            edits(i - 1, j - 1) + (one[i - 1] != two[j - 1]),
            edits(i - 1, j) + 1,
            edits(i, j - 1) + 1,
        )

    return edits(len(one), len(two))


ORACLES = {
    common_subsequence: common_by_loops,
    edit_distance: edits_by_loops,
}


def padded(sentence, length):
    return np.array(sentence + [-1] * (length - len(sentence)), "int32")


@pytest.mark.parametrize("function", ORACLES)
@settings(max_examples=40, deadline=None)
@given(one=sentences, two=sentences)
def test_values_are_those_of_the_definition(function, one, two):
    wanted = ORACLES[function](tuple(one), tuple(two))
    assert float(function(padded(one, 8), padded(two, 7))) == wanted
    # By whole rows instead of bits.
    assert float(function(padded(one, 8), padded(two, 33))) == wanted


@pytest.mark.parametrize("length", [31, 32, 45])
@pytest.mark.parametrize("function", ORACLES)
def test_long_sentences(function, length):
    words = RNG.integers(0, 4, (3, length)).astype("int32")
    others = RNG.integers(0, 4, (3, length)).astype("int32")
    wanted = [
        ORACLES[function](tuple(a), tuple(b))
        for a, b in zip(words.tolist(), others.tolist())
    ]
    np.testing.assert_array_equal(function(words, others), wanted)


@pytest.mark.parametrize("length", [9, 33])
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", ORACLES)
def test_graphs_give_the_same(function, jit, length):
    both = RNG.integers(-1, 3, (4, 4 + length)).astype("int32")
    words, others = (
        np.where(np.cumsum(x < 0, axis=1) > 0, -1, x)
        for x in (both[:, :4], both[:, 4:])
    )
    specs = [tf.TensorSpec([None, n], "int32") for n in (4, length)]
    graph = tf.function(
        function, input_signature=specs, jit_compile=jit, autograph=False
    )
    np.testing.assert_array_equal(graph(words, others), function(words, others))


@pytest.mark.parametrize("function", ORACLES)
def test_leading_axes_broadcast(function):
    words = RNG.integers(0, 3, (2, 3, 5)).astype("int32")
    others = RNG.integers(0, 3, (2, 4, 6)).astype("int32")
    found = function(words[:, :, None], others[:, None])
    assert found.shape == (2, 3, 4)
    assert found[1, 2, 3] == function(words[1, 2], others[1, 3])


@pytest.mark.parametrize("function", ORACLES)
def test_lengths_that_are_not_known_are_refused(function):
    spec = tf.TensorSpec([2, None], "int32")
    with pytest.raises(ValueError, match="must have a known number of words"):
        tf.function(function, autograph=False).get_concrete_function(spec, spec)
