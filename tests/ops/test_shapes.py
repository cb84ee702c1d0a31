import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.ops import check_shape


@pytest.mark.parametrize(
    "shape, axes",
    [
        ((2, 3), "B T"),
        ((2, 3, 3), "B N N"),
        ((2, 5, 2), "... 2"),
        ((2,), "... 2"),
        ((4, 2, 3), "... 2 D"),
        ((), "..."),
    ],
)
def test_shapes_that_fit_pass(shape, axes):
    check_shape(np.zeros(shape), axes, "x")


@pytest.mark.parametrize(
    "shape, axes",
    [
        ((2,), "B T"),
        ((2, 3, 4), "B T"),
        ((2, 3, 4), "B N N"),
        ((2, 5, 3), "... 2"),
        ((), "... D"),
        ((3, 3), "2 T"),
    ],
)
def test_shapes_that_do_not_fit_are_named(shape, axes):
    legend = ", ".join(axes.split()).replace(".", r"\.")
    received = str(shape).replace("(", r"\(").replace(")", r"\)")
    message = rf"`x` must have shape \({legend}\)\. Received: shape={received}"
    with pytest.raises(ValueError, match=message):
        check_shape(np.zeros(shape), axes, "x")


def test_unknown_sizes_fit_and_known_ones_still_count():
    check_shape(keras.KerasTensor((None, None, 4)), "B N N", "x")
    with pytest.raises(ValueError, match=r"\(None, 3, 4\)"):
        check_shape(keras.KerasTensor((None, 3, 4)), "B N N", "x")


def test_the_check_runs_while_a_graph_is_traced():
    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def graph(x):
        check_shape(x, "B S T", "log_probs")

    with pytest.raises(ValueError, match=r"`log_probs`.*\(None, 3\)"):
        graph(tf.zeros((2, 3)))
