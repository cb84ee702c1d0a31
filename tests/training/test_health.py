import warnings

import keras
import numpy as np
import pytest

from tfcap.losses import HingeRetrievalLoss
from tfcap.metrics import CollapseRatio
from tfcap.models import RetrievalListener
from tfcap.training import CollapseWarning
from tfcap.training import FallingScoreWarning


def warned(callback, logs, words):
    """Epochs after which it warned, in words."""
    callback.on_train_begin()
    epochs = []
    for epoch, log in enumerate(logs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            callback.on_epoch_end(epoch, {"loss": 1.0, **log})
        for warning in caught:
            assert warning.category is RuntimeWarning
            assert words in str(warning.message)
            epochs.append(epoch)
    return epochs


def collapses(callback, *ratios, name="collapse_ratio"):
    logs = [{name: ratio} for ratio in ratios]
    return warned(callback, logs, f"`{name}` has been near 1")


def falls(callback, *scores):
    """Epochs after which it warned; a score of `None` is not logged."""
    logs = [{} if x is None else {"val_cider_d": x} for x in scores]
    return warned(callback, logs, "`val_cider_d` has been falling")


def test_warns_once_for_every_time_that_a_ratio_stays_near_one():
    callback = CollapseWarning(patience=2)
    ratios = 1.0, 0.7, 0.96, 1.04, 1.0, 1.0, 1.2, 1.0, 1.0
    assert collapses(callback, *ratios) == [3, 8]
    assert collapses(callback, 1.0) == []


def test_finds_every_ratio_and_no_deviation_of_one():
    for name in ("val_collapse_ratio", "speaker/retrieval/collapse_ratio"):
        assert collapses(CollapseWarning(1), 1.0, name=name) == [0]
    name = "speaker/retrieval/collapse_ratio_std"
    assert collapses(CollapseWarning(1), 1.0, name=name) == []


def test_tells_of_a_listener_that_has_given_up_and_of_no_other():
    batch = {
        "image": np.random.default_rng(0).normal(size=(6, 1, 3)),
        "caption": np.arange(3, 9).reshape(6, 1, 1),
    }
    keras.utils.set_random_seed(0)
    listener = RetrievalListener(9, units=4, embedding_units=3)
    loss = HingeRetrievalLoss()
    listener.compile("sgd", loss=loss, metrics=[CollapseRatio(loss)])

    def train():
        return listener.fit(
            batch, epochs=2, callbacks=[CollapseWarning(2)], verbose=0
        )

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        train()
    # Biases alone are left: everything is embedded as they are.
    for name in ("project", "read"):
        layer = getattr(listener, name)
        layer.set_weights([w * 0 + (w.ndim < 2) for w in layer.get_weights()])
    bias = listener.read.weights[-1]
    bias.assign(np.linspace(-1, 1, 24).reshape(2, 12))
    listener.embedding.embeddings.assign(np.zeros((9, 3)))
    listener.optimizer.learning_rate = 0.0
    with pytest.warns(RuntimeWarning, match="embed all images and texts in"):
        train()


def test_warns_once_for_every_time_that_a_score_keeps_falling():
    callback = FallingScoreWarning(patience=2)
    scores = 0.5, 0.6, 0.5, 0.4, 0.3, 0.2, 0.2, 0.1, 0.05
    assert falls(callback, *scores) == [3, 8]
    assert falls(callback, 0.04, 0.03) == []


def test_epochs_between_evaluations_do_not_count():
    callback = FallingScoreWarning(patience=2)
    assert falls(callback, 0.5, None, 0.4, None, None, 0.3, None) == [5]


def test_what_falls_at_once_is_held_against_the_score_before_training():
    up_and_down = 0.5, 0.6, 0.5, 0.6
    assert falls(FallingScoreWarning(), *up_and_down) == []
    assert falls(FallingScoreWarning(start=0.9), *up_and_down) == [2]
    falling = 0.8, 0.7
    assert falls(FallingScoreWarning(patience=2), *falling) == []
    assert falls(FallingScoreWarning(patience=2, start=0.9), *falling) == [1]
    # What has learned something may fall to where it was.
    callback = FallingScoreWarning(patience=2, start=0.5)
    assert falls(callback, 0.9, 0.6, 0.7, 0.5) == []


def test_the_message_tells_the_scores():
    callback = FallingScoreWarning(patience=2, start=0.95)
    callback.on_train_begin()
    with pytest.warns(
        RuntimeWarning, match=r"\(0.97, 0.8, 0.7; 0.95 before.*learning rate"
    ):
        for epoch, score in enumerate((0.97, 0.8, 0.7)):
            callback.on_epoch_end(epoch, {"val_cider_d": score})


def test_a_score_that_is_never_logged_is_told_after_training():
    inputs = keras.Input((2,))
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    data = np.zeros((4, 2)), np.zeros((4, 1))

    def train(monitor):
        callback = FallingScoreWarning(monitor)
        model.fit(*data, verbose=0, callbacks=[callback])

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        train("loss")
    with pytest.warns(RuntimeWarning, match="never logged.*'loss'"):
        train("val_cider_d")


@pytest.mark.parametrize("made", [CollapseWarning, FallingScoreWarning])
def test_patience_is_positive(made):
    with pytest.raises(ValueError, match="`patience` must be a positive"):
        made(patience=0)
