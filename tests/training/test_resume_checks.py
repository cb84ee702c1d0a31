import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcap.training import Resume
from tfcap.training.checkpoint import RunCheckpoint
from tfcap.training.resume_checks import check_finite


def fit(model, value, folder):
    """Two epochs of two steps; the third target is what is given."""
    targets = np.float32([1.0, 1.0, value, 1.0]).reshape(4, 1, 1)
    pairs = np.ones((4, 1, 2), "float32"), targets
    return model.fit(
        tf.data.Dataset.from_tensor_slices(pairs),
        epochs=2,
        steps_per_epoch=2,
        shuffle=False,
        callbacks=[Resume(folder)],
        verbose=0,
    )


def model():
    network = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    network.compile("sgd", loss="mse")
    return network


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_model_that_keras_trains_stops_at_its_step(value, tmp_path):
    match = "`loss` is .* at step 0 of the epoch"
    with pytest.raises(FloatingPointError, match=match):
        fit(model(), value, tmp_path)
    again = model()
    assert RunCheckpoint(tmp_path).restore(again) == 1
    assert all(np.isfinite(w).all() for w in again.get_weights())
    assert fit(again, 1.0, tmp_path).epoch == [0, 1]


def test_metrics_of_several_numbers_are_checked_and_kept(tmp_path):
    network = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(3, activation="softmax")]
    )
    f1 = keras.metrics.F1Score(name="f1")
    network.compile("sgd", "categorical_crossentropy", metrics=[f1])
    rows = np.ones((4, 2)), np.eye(3)[[0, 1, 2, 0]]
    for epochs in (1, 2):
        resume = Resume(tmp_path)
        history = network.fit(
            *rows, 2, epochs=epochs, callbacks=[resume], verbose=0
        )
    assert np.shape(history.history["f1"]) == (2, 3)
    match = r"`f1` is \[0.5, nan\], at step 3"
    with pytest.raises(FloatingPointError, match=match):
        check_finite({"loss": 1.0, "f1": np.array([0.5, np.nan])}, 3)
