import warnings

import keras
import numpy as np
import pytest

from tfcap.losses import HingeRetrievalLoss
from tfcap.metrics import CollapseRatio
from tfcap.models import RetrievalListener
from tfcap.training import CollapseWarning


def warned(callback, *ratios, name="collapse_ratio"):
    """Epochs after which it warned."""
    callback.on_train_begin()
    epochs = []
    for epoch, ratio in enumerate(ratios):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            callback.on_epoch_end(epoch, {name: ratio, "loss": 1.0})
        epochs += [epoch] * len(caught)
        for warning in caught:
            assert warning.category is RuntimeWarning
            assert f"`{name}` has been near 1" in str(warning.message)
    return epochs


def test_warns_once_for_every_time_that_a_ratio_stays_near_one():
    callback = CollapseWarning(patience=2)
    ratios = 1.0, 0.7, 0.96, 1.04, 1.0, 1.0, 1.2, 1.0, 1.0
    assert warned(callback, *ratios) == [3, 8]
    assert warned(callback, 1.0) == []


def test_finds_every_ratio_and_no_deviation_of_one():
    for name in ("val_collapse_ratio", "speaker_retrieval_collapse_ratio"):
        assert warned(CollapseWarning(1), 1.0, name=name) == [0]
    name = "speaker_retrieval_collapse_ratio_std"
    assert warned(CollapseWarning(1), 1.0, name=name) == []
    assert warned(CollapseWarning(1, monitor="r"), 1.0, name="r") == [0]


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
    with pytest.warns(RuntimeWarning, match="embed all images and texts alike"):
        train()


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="`patience` must be at least 1"):
        CollapseWarning(0)
    with pytest.raises(ValueError, match="`low` must be less than 1"):
        CollapseWarning(low=1.01)
    with pytest.raises(ValueError, match="`monitor` must name what is logged"):
        CollapseWarning(monitor="absent").on_epoch_end(0, {"loss": 1.0})
