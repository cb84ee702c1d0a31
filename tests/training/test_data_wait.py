import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.training import DataWait


def slow(dataset, seconds):
    def wait(*batch):
        time.sleep(seconds)
        return batch

    def step(x, y):
        x, y = tf.numpy_function(wait, [x, y], [tf.float32, tf.float32])
        return tf.ensure_shape(x, (2, 3)), tf.ensure_shape(y, (2, 1))

    return dataset.map(step)


def batches(steps=4):
    batch = np.ones((2, 3), "float32"), np.ones((2, 1), "float32")
    return tf.data.Dataset.from_tensors(batch).repeat(steps)


class Slow(keras.layers.Layer):
    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def call(self, x):
        def wait(x):
            time.sleep(self.seconds)
            return x

        return tf.ensure_shape(tf.numpy_function(wait, [x], x.dtype), x.shape)


def share(dataset, seconds=0.0, **options):
    model = keras.Sequential([Slow(seconds), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=False, **options)
    wait = DataWait()
    dataset = wait.watch(dataset)
    history = model.fit(dataset, shuffle=False, callbacks=[wait], verbose=0)
    return history.history["data_wait"][0]


def test_a_slow_pipeline_is_waited_for():
    assert share(slow(batches(), 0.1)) > 0.7


def test_a_slow_model_waits_for_nothing():
    assert share(batches(), seconds=0.1) < 0.3


def test_batches_made_ahead_are_not_waited_for():
    fed = slow(batches(), 0.05).prefetch(2)
    assert share(fed, seconds=0.1) < 0.3


def test_every_batch_of_an_execution_is_waited_for():
    assert share(slow(batches(6), 0.1), steps_per_execution=2) > 0.7


def test_batches_are_left_as_they_are():
    wait = DataWait()
    for structure in ({"a": [1, 2]}, ([1], {"b": [2]}), [3]):
        dataset = tf.data.Dataset.from_tensor_slices(structure)
        seen = wait.watch(dataset)
        assert seen.element_spec == dataset.element_spec
        for one, other in zip(seen, dataset, strict=True):
            tf.nest.map_structure(np.testing.assert_array_equal, one, other)


def test_data_that_nobody_watches_is_refused():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="watch"):
        model.fit(batches(), shuffle=False, callbacks=[DataWait()])
