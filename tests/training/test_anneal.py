import keras
import numpy as np
import pytest

from tfcap.layers import GumbelSoftmaxST
from tfcap.training import Anneal

X, Y = np.ones((6, 2), "float32"), np.ones((6, 1), "float32")


class Recorder(keras.callbacks.Callback):
    def __init__(self, variable):
        super().__init__()
        self.variable, self.values = variable, []

    def on_train_batch_begin(self, batch, logs=None):
        self.values.append(float(self.variable))


def train(schedule, epochs=2, start=0, **arguments):
    """Values of the variable at every step, and at the end of epochs."""
    variable = GumbelSoftmaxST().temperature
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    recorder = Recorder(variable)
    history = model.fit(
        X,
        Y,
        batch_size=2,
        epochs=epochs,
        initial_epoch=start,
        callbacks=[Anneal(variable, schedule, **arguments), recorder],
        verbose=0,
    )
    return recorder.values, history.history


def test_the_schedule_is_followed_over_epochs():
    values, history = train(lambda step: 10.0 + step)
    assert values == [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]
    assert history["temperature"] == [12.0, 15.0]


def test_a_run_that_goes_on_finds_its_place():
    values, history = train(lambda step: step, epochs=3, start=2, name="rho")
    assert values == [6.0, 7.0, 8.0]
    assert history["rho"] == [8.0]


def test_a_schedule_of_keras_will_do():
    schedule = keras.optimizers.schedules.ExponentialDecay(1.0, 1, 0.5)
    assert train(schedule, epochs=1)[0] == [1.0, 0.5, 0.25]


def test_an_epoch_of_unknown_length_is_refused():
    variable = keras.Variable(1.0)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="`steps_per_epoch`.*steps=None"):
        model.fit(
            ((X, Y) for _ in range(2)),
            callbacks=[Anneal(variable, lambda step: step)],
            shuffle=False,
            verbose=0,
        )


def test_a_number_cannot_be_annealed():
    with pytest.raises(TypeError, match="`variable`.*variable=0.5"):
        Anneal(0.5, lambda step: step)


def test_steps_that_no_callback_sees_are_refused():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=3)
    callback = Anneal(GumbelSoftmaxST().temperature, float)
    with pytest.raises(ValueError, match="`steps_per_execution` must be 1"):
        model.fit(X, Y, batch_size=2, callbacks=[callback], verbose=0)
