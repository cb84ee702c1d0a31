import numpy as np
import pytest
import tensorflow as tf

from tfcap.ops import call_on_host
from tfcap.ops import captions_of
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


def test_a_wrong_shape_does_not_leave_the_graph():
    graph = tf.function(lambda x: call_on_host(lengths, (x,), (2, 3)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shape"):
        graph(tf.constant(TOKENS))


def test_captions_are_decoded_up_to_where_there_are_no_words():
    vocabulary = Vocabulary(["red", "bus"])
    found = captions_of(TOKENS, vocabulary)
    assert found == ["red bus", "bus", "", "red red red"]
