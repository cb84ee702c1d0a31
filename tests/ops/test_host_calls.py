import numpy as np
import pytest
import tensorflow as tf

from tfcap._ops import call_on_host
from tfcap._ops import captions_of
from tfcap.text import Vocabulary

TOKENS = np.array([[[4, 5, 2], [5, -1, -1]], [[-1, -1, -1], [4, 4, 4]]])


def lengths(words):
    return (words >= 0).sum(axis=-1).astype("float32")


def test_a_graph_gets_what_eager_code_gets():
    wanted = lengths(TOKENS)
    found = call_on_host(lengths, (TOKENS,), (2, 2))
    np.testing.assert_array_equal(found, wanted)

    @tf.function(input_signature=[tf.TensorSpec([None, 2, 3], tf.int64)])
    def graph(words):
        found = call_on_host(lengths, (words,), (None, 2))
        assert found.shape == (None, 2)
        return found

    np.testing.assert_array_equal(graph(TOKENS), wanted)


@pytest.mark.parametrize("wrap", [lambda x: x, tf.function])
def test_a_wrong_shape_does_not_come_back(wrap):
    call = wrap(lambda x: call_on_host(lengths, (x,), (2, 3)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shape"):
        call(tf.constant(TOKENS))


@pytest.mark.parametrize("wrap", [lambda x: x, tf.function])
def test_numbers_of_any_kind_come_back_as_float32(wrap):
    call = wrap(lambda x: call_on_host(lambda y: [1, 2.5], (x,), (2,)))
    found = call(tf.constant(TOKENS))
    assert found.dtype == "float32" and found.numpy().tolist() == [1, 2.5]


def test_captions_are_decoded_up_to_where_there_are_no_words():
    vocabulary = Vocabulary(["red", "bus"])
    found = captions_of(TOKENS, vocabulary)
    assert found == ["red bus", "bus", "", "red red red"]
