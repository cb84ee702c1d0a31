import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.training import RunCheckpoint
from tfcap.training import fit


class Batches:
    """Two epochs of two steps; the third target is what is given."""

    steps_per_epoch = 2

    def __init__(self, value):
        self.targets = np.float32([1.0, 1.0, value, 1.0]).reshape(4, 1, 1)

    def dataset(self, epochs, start_step=0):
        pairs = np.ones((4, 1, 2), "float32"), self.targets
        return tf.data.Dataset.from_tensor_slices(pairs).skip(start_step)


def model():
    network = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    network.compile("sgd", loss="mse")
    return network


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_model_that_keras_trains_stops_at_its_step(value, tmp_path):
    match = "`loss` is .* at step 0 of the epoch"
    with pytest.raises(FloatingPointError, match=match):
        fit(model(), Batches(value), 2, tmp_path, verbose=0)
    again = model()
    assert RunCheckpoint(tmp_path).restore(again) == 1
    assert all(np.isfinite(w).all() for w in again.get_weights())
    assert fit(again, Batches(1.0), 2, tmp_path, verbose=0).epoch == [1]
