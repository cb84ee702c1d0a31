import os

import keras
import numpy as np
import pytest

from tests.training.test_model_state import rewrite
from tfcap.training.checkpoint import RunCheckpoint

X = np.ones((2, 64), "float32")


def adapted(seed=0, pretrained=True):
    """A frozen network under a layer that learns, with an adapter in it."""
    keras.utils.set_random_seed(seed)
    base = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(256),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.1),
            keras.layers.Dense(64),
        ]
    )
    base.trainable = False
    base.layers[-1].trainable = True
    base.layers[-1].enable_lora(2)
    base.layers[-1].bias.trainable = False
    base.pretrained = pretrained
    model = keras.Sequential([base, keras.layers.Dense(1)])
    model.compile("adam", "mse", run_eagerly=True)
    model.train_on_batch(X, X[:, :1])
    return model


@pytest.fixture(scope="module")
def model():
    return adapted()


def values(model):
    return [np.array(v) for v in (*model.variables, *model.optimizer.variables)]


def test_a_checkpoint_holds_what_trains(model, tmp_path):
    RunCheckpoint(tmp_path).save(model, 1)
    frozen = 4 * (64 * 256 + 256 + 2 * 256 + 256 * 64 + 64)
    size = os.path.getsize(tmp_path / "checkpoint.npz")
    assert size < 0.4 * frozen
    RunCheckpoint(tmp_path / "all").save(adapted(pretrained=False), 1)
    every = os.path.getsize(tmp_path / "all" / "checkpoint.npz")
    assert every > size + frozen
    # The program has made the base again, and other adapters.
    again = adapted()
    for weight in again.trainable_variables:
        weight.assign(weight + 1.0)
    assert RunCheckpoint(tmp_path).restore(again) == 1
    for a, b in zip(values(model), values(again), strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_base_is_refused(model, tmp_path):
    RunCheckpoint(tmp_path).save(model, 1)
    other = adapted(seed=1)
    before = values(other)
    match = "`kernel` of Dense.* is frozen and had other values.*load the weig"
    with pytest.raises(ValueError, match=match):
        RunCheckpoint(tmp_path).restore(other)
    for a, b in zip(before, values(other)):
        np.testing.assert_array_equal(a, b)


def test_frozen_weights_that_something_has_changed_are_saved(tmp_path):
    model = adapted()
    checkpoint = RunCheckpoint(tmp_path)
    checkpoint.restore(model)
    kernel = model.layers[0].layers[0].kernel
    kernel.assign(kernel + 1.0)
    checkpoint.save(model, 1)
    again = adapted()
    RunCheckpoint(tmp_path).restore(again)
    for a, b in zip(values(model), values(again), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("frozen", [[], {"00000": 3}, {"x": "digest"}])
def test_digests_that_are_none_are_refused(frozen, model, tmp_path):
    RunCheckpoint(tmp_path).save(model, 1)
    rewrite(tmp_path, lambda about, arrays: about.update(frozen=frozen))
    with pytest.raises(ValueError, match="frozen weights are|it holds .* of"):
        RunCheckpoint(tmp_path).restore(adapted())
