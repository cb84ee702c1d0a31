import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap._ops import check_shape
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap._ops.arguments import checked_rate
from tfcap._ops.arguments import checked_scalar
from tfcap._ops.arguments import checked_seed
from tfcap._ops.arguments import initial_value


def positive(value, check=checked_number):
    return check(value, "scale", "positive", lambda x: x > 0)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_numbers_become_pythons(value):
    found = checked_integer(value, "width")
    assert found == 3 and type(found) is int
    for number in (value, float(value), np.float32(value)):
        found = positive(number)
        assert found == 3.0 and type(found) is float


@pytest.mark.parametrize("value", [0, -1, 3.0, np.float64(3), "3", True, None])
def test_what_is_no_positive_integer_is_refused(value):
    with pytest.raises(ValueError, match="`width` must be a positive integer"):
        checked_integer(value, "width")


@pytest.mark.parametrize("value", [0, math.nan, math.inf, "2", None, True])
def test_what_is_no_positive_number_is_refused(value):
    with pytest.raises(ValueError, match="`scale` must be positive. Received"):
        positive(value)


def test_rates_of_dropout_are_less_than_one():
    assert checked_rate(0, "dropout") == 0.0
    for value in (1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match=r"`dropout` must be in \[0, 1\)"):
            checked_rate(value, "dropout")


def test_a_variable_stays_one():
    variable = keras.Variable(0.5)
    assert positive(variable, checked_scalar) is variable
    assert initial_value(variable) == 0.5 and initial_value(2.0) == 2.0
    with pytest.raises(ValueError, match=r"`keras.Variable` of shape \(\)"):
        positive(keras.Variable([0.5]), checked_scalar)


def test_a_seed_may_be_any_integer_or_none():
    assert checked_seed(None) is None
    assert checked_seed(np.int64(-3)) == -3
    with pytest.raises(ValueError, match="`seed` must be an integer, or None"):
        checked_seed(0.5)


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
