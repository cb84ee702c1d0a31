"""Temperatures and rates that are held in a variable of the caller's."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.layers import Categorical
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST

LOGITS = np.tile(np.log([[0.6, 0.3, 0.1]]), (400, 1)).astype("float32")


def variable(value):
    return keras.Variable(value, trainable=False)


def emitted(layer):
    @tf.function(autograph=False)
    def emit():
        return layer(LOGITS, training=True)

    return lambda: emit().numpy()


def test_a_temperature_is_read_at_every_step():
    temperature = variable(1.0)
    words = emitted(Categorical(temperature, seed=0))
    assert len(np.unique(words().argmax(-1))) == 3
    temperature.assign(0.01)
    assert set(words().argmax(-1)) == {0}


def test_the_temperature_of_a_relaxation_is_read_at_every_step():
    temperature = variable(1.0)
    layer = GumbelSoftmaxST(temperature, rho=1.0, seed=0)
    assert layer.temperature is temperature
    words = emitted(layer)
    assert words().max(-1).mean() < 0.8
    temperature.assign(0.01)
    assert words().max(-1).mean() > 0.95


@pytest.mark.parametrize("own", [True, False])
def test_a_rate_is_read_at_every_step(own):
    layer = PartialSamplingST(1.0 if own else variable(1.0), seed=0)
    words = emitted(layer)
    assert (words().max(-1) < 1).all()
    layer.rho.assign(0.0)
    assert (words().max(-1) == 1).all()
    # The config tells what it was made with.
    assert layer.get_config()["rho"] == 1.0


def saved(channel, folder):
    """A channel that a model was saved with, as it is loaded."""
    inputs = keras.Input((3,))
    model = keras.Model(inputs, channel(inputs, training=True))
    model.save(folder / "model.keras")
    return keras.saving.load_model(folder / "model.keras").layers[-1]


@pytest.mark.parametrize(
    "kind, name, value",
    [
        (Categorical, "temperature", variable(0.5)),
        *((GumbelSoftmaxST, "temperature", x) for x in (0.5, variable(0.5))),
        *((PartialSamplingST, "rho", x) for x in (0.5, variable(0.5))),
    ],
)
def test_what_was_assigned_is_saved(kind, name, value, tmp_path):
    channel = kind(**{name: value})
    getattr(channel, name).assign(0.25)
    held = getattr(saved(channel, tmp_path), name)
    assert float(keras.ops.convert_to_numpy(held)) == 0.25


def test_a_rate_that_was_assigned_zero_is_saved_as_a_variable(tmp_path):
    channel = PartialSamplingST(variable(0.25), seed=0)
    channel.rho.assign(0.0)
    loaded = saved(channel, tmp_path)
    assert not loaded.discrete and float(loaded.rho.numpy()) == 0
    loaded.rho.assign(1.0)
    np.testing.assert_allclose(
        loaded(LOGITS, training=True), np.exp(LOGITS), atol=1e-6
    )


@pytest.mark.parametrize(
    "kind, value, told",
    [
        (GumbelSoftmaxST, keras.Variable(0.5), "`trainable=False`"),
        (PartialSamplingST, keras.Variable(0.5), "`trainable=False`"),
        # It would be discrete for good.
        (PartialSamplingST, variable(0.0), r"`rho` must be in \(0, 1\]"),
    ],
)
def test_variables_that_could_not_be_used_are_refused(kind, value, told):
    with pytest.raises(ValueError, match=told):
        kind(value)
