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
    @tf.function
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


def test_a_rate_is_read_at_every_step():
    rho = variable(1.0)
    words = emitted(PartialSamplingST(rho, seed=0))
    assert (words().max(-1) < 1).all()
    rho.assign(0.0)
    assert (words().max(-1) == 1).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda value: Categorical(value),
        lambda value: GumbelSoftmaxST(value),
        lambda value: PartialSamplingST(value),
    ],
)
def test_a_model_with_a_variable_is_saved_with_its_value(make, tmp_path):
    inputs = keras.Input((3,))
    model = keras.Model(inputs, make(variable(0.5))(inputs, training=True))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras").layers[-1]
    held = getattr(loaded, "temperature", None)
    held = loaded.rho if held is None else held
    assert float(keras.ops.convert_to_numpy(held)) == 0.5


def test_a_rate_that_was_assigned_zero_is_saved_as_a_variable(tmp_path):
    inputs, rho = keras.Input((3,)), variable(0.25)
    model = keras.Model(inputs, PartialSamplingST(rho, seed=0)(inputs))
    model.layers[-1].rho.assign(0.0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras").layers[-1]
    assert not loaded.discrete and float(loaded.rho.numpy()) == 0
    loaded.rho.assign(1.0)
    np.testing.assert_allclose(
        loaded(LOGITS, training=True), np.exp(LOGITS), atol=1e-6
    )


def test_variables_that_would_be_trained_are_refused():
    for make in (GumbelSoftmaxST, PartialSamplingST):
        with pytest.raises(ValueError, match="`trainable=False`"):
            make(keras.Variable(0.5))


def test_a_channel_that_samples_at_a_variable_rate_cannot_start_from_zero():
    with pytest.raises(ValueError, match=r"`rho` must be in \(0, 1\]"):
        PartialSamplingST(variable(0.0))
