import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.training.resumed import fit
from tfcap.data import DatasetBatches
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
    for structure in ({"a": [1, 2]}, ([1], {"b": [2]}), [3], ([4],)):
        dataset = tf.data.Dataset.from_tensor_slices(structure)
        seen = wait._seen(dataset)
        assert seen.element_spec == dataset.element_spec
        for one, other in zip(seen, dataset, strict=True):
            tf.nest.map_structure(np.testing.assert_array_equal, one, other)


def test_a_loop_of_another_kind_is_refused():
    wait = DataWait()
    wait.set_model(keras.Sequential([keras.layers.Dense(1)]))
    with pytest.raises(ValueError, match="`DataWait` must be.*`fit\(\)`"):
        wait.on_train_begin()


def test_every_fit_is_watched():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    wait = DataWait()
    for _ in range(2):
        found = model.fit(batches(), shuffle=False, callbacks=[wait], verbose=0)
        assert len(found.history["data_wait"]) == 1
    x = np.ones((4, 3), "float32")
    found = model.fit(x, x[:, :1], callbacks=[wait], verbose=0)
    assert len(found.history["data_wait"]) == 1


def test_an_epoch_of_one_step_has_a_share_as_well():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    wait = DataWait()
    history = model.fit(
        batches(3), epochs=3, steps_per_epoch=1, shuffle=False, callbacks=[wait]
    )
    assert len(history.history["data_wait"]) == 3


def test_a_run_that_goes_on_is_watched(tmp_path):
    def batch(step):
        return np.ones((2, 3), "float32"), np.ones((2, 1), "float32")

    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.build((2, 3))
    model.optimizer.build(model.trainable_variables)
    history = fit(
        model, DatasetBatches(batch, 2), 2, tmp_path, [DataWait()], verbose=0
    )
    assert len(history.history["data_wait"]) == 2
