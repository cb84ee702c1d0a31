import warnings

import keras
import numpy as np
import pytest

from tfcap.training import FallingScoreWarning

NAN = float("nan")


def warned(callback, *scores, name="val_cider_d"):
    """Epochs after which it warned; a score of `None` is not logged."""
    callback.on_train_begin()
    epochs = []
    for epoch, score in enumerate(scores):
        logs = {"loss": 1.0} if score is None else {name: score}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            callback.on_epoch_end(epoch, logs)
        epochs += [epoch] * len(caught)
        for warning in caught:
            assert warning.category is RuntimeWarning
            assert f"`{name}` has been falling" in str(warning.message)
            assert "learning rate" in str(warning.message)
    return epochs


def test_warns_once_for_every_time_that_a_score_keeps_falling():
    callback = FallingScoreWarning(patience=2)
    scores = 0.5, 0.6, 0.5, 0.4, 0.3, 0.2, 0.2, 0.1, 0.05
    assert warned(callback, *scores) == [3, 8]
    assert warned(callback, 0.04, 0.03) == []


def test_epochs_between_evaluations_do_not_count():
    callback = FallingScoreWarning(patience=2)
    assert warned(callback, 0.5, None, 0.4, None, None, 0.3, None) == [5]


def test_what_falls_at_once_is_held_against_the_score_before_training():
    up_and_down = 0.5, 0.6, 0.5, 0.6
    assert warned(FallingScoreWarning(), *up_and_down) == []
    assert warned(FallingScoreWarning(start=0.9), *up_and_down) == [2]
    falling = 0.8, 0.7
    assert warned(FallingScoreWarning(patience=2), *falling) == []
    assert warned(FallingScoreWarning(patience=2, start=0.9), *falling) == [1]
    # What has learned something may fall to where it was.
    callback = FallingScoreWarning(patience=2, start=0.5)
    assert warned(callback, 0.9, 0.6, 0.7, 0.5) == []


def test_small_differences_may_be_left_out():
    callback = FallingScoreWarning("r", 2, min_delta=0.05)
    assert warned(callback, 0.5, 0.47, 0.44, 0.3, 0.2, name="r") == [4]
    assert warned(callback, 0.5, NAN, 0.4, name="r") == []


def test_the_message_tells_the_scores():
    callback = FallingScoreWarning(patience=2, start=0.95)
    with pytest.warns(RuntimeWarning, match=r"\(0.97, 0.8, 0.7; 0.95 before"):
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


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="`patience` must be a positive"):
        FallingScoreWarning(patience=0)
    with pytest.raises(ValueError, match="Received: min_delta=-0.1"):
        FallingScoreWarning(min_delta=-0.1)


def test_the_message_does_not_call_falling_what_rises_below_its_start():
    for scores, what in (
        ((0.8, 0.7), "been falling for 2"),
        ((0.5, 0.6), "been falling, or below what it began with, for 2"),
    ):
        callback = FallingScoreWarning(patience=2, start=0.9)
        with pytest.warns(RuntimeWarning, match=what):
            for epoch, score in enumerate(scores):
                callback.on_epoch_end(epoch, {"val_cider_d": score})
