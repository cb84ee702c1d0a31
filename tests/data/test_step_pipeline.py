import numpy as np
import pytest
import tensorflow as tf

from tfcap.data.step_pipeline import row_pipeline
from tfcap.data.step_pipeline import step_pipeline


def make(step):
    """Inputs of a batch of 2 with further rows, and labels."""
    inputs = {"a": np.full((2, 3), step, "f4"), "more": np.full(5, step)}
    return inputs, np.array([step, step + 1], "i4")


def test_steps_come_in_their_order_from_any_first_step():
    found = [int(labels[0]) for _, labels in step_pipeline(make, range(3, 40))]
    assert found == list(range(3, 40))
    assert list(step_pipeline(make, range(4, 4))) == []
    assert list(step_pipeline(make, range(4, -2))) == []


def test_shapes_and_the_number_of_steps_are_known_beforehand():
    dataset = step_pipeline(make, range(3, 9))
    inputs, labels = dataset.element_spec
    assert inputs["a"] == tf.TensorSpec((2, 3), tf.float32)
    assert inputs["more"] == tf.TensorSpec((5,), tf.int64)
    assert labels == tf.TensorSpec((2,), tf.int32)
    assert len(dataset) == 6


def test_rows_come_once_the_last_batch_smaller():
    dataset = row_pipeline(lambda rows: {"x": 10.0 * rows}, 7, 3)
    assert len(dataset) == 3
    assert dataset.element_spec[0]["x"].shape == (None,)
    sizes, seen = [], []
    for inputs, rows in dataset:
        np.testing.assert_array_equal(inputs["x"], 10.0 * rows.numpy())
        sizes.append(len(rows))
        seen += rows.numpy().tolist()
    assert sizes == [3, 3, 1] and seen == list(range(7))


def test_an_error_of_a_step_reaches_whoever_reads_the_batches():
    def fail(step):
        if step:
            raise KeyError("no such image")
        return make(step)

    with pytest.raises(tf.errors.UnknownError, match="no such image"):
        list(step_pipeline(fail, range(3)))
