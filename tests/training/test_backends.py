"""The same losses on TensorFlow and on JAX, without TensorFlow there.

`python -m tests.training.test_backends` writes those of this backend.
"""

import json
import math
import pathlib

import keras
import numpy as np
import pytest
from keras import ops

from tests import dialogs
from tests.methods import stranger
from tests.methods.test_arguments import METHODS
from tests.methods.test_arguments import networks_of
from tests.methods.test_arguments import options_of
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.objectives import ScoreFunction
from tfcap.training import Evaluator
from tfcap.training import JointTraining
from tfcap.training import Resume
from tfcap.training import open_strategy

FILE = pathlib.Path(__file__).parent / "losses.json"
KNOWN = json.loads(FILE.read_text())
on_jax = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="needs KERAS_BACKEND=jax"
)


def hashed(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """Numbers that a seed gives on every backend: a hash of their places."""
    first, second = ops.unstack(ops.cast(seed.next(), "int32"))
    x = ops.arange(math.prod(shape), dtype="int32")
    x = (x + 1) * 7919 + first * 104729 + second * 15485863
    x = ops.bitwise_xor(x, ops.bitwise_right_shift(x, 13)) * 1103515245 + 12345
    x = ops.bitwise_xor(x, ops.bitwise_right_shift(x, 16))
    x = ops.cast(ops.bitwise_and(x, 0xFFFFFF), "float32") / 2**24
    return ops.reshape(minval + (maxval - minval) * x, shape)


@pytest.fixture(autouse=True)
def same_noise(monkeypatch):
    monkeypatch.setattr(keras.random, "uniform", hashed)


def trained(name):
    """Losses of two epochs, and the weights after them."""
    keras.utils.set_random_seed(0)
    given = networks_of(METHODS[name])
    data = [stranger.batch(8)]
    if name in ("gan1", "gan2", "n_pair"):
        data = dialogs.batches(negatives=3).batch(0)
    elif "generator" in given:
        data = [dialogs.batches().batch(0)]
    for seed, network in enumerate(given.values()):
        if isinstance(network, keras.Model):
            stranger.fill(network, seed)
    if "max_length" in options_of(METHODS[name]):
        given["max_length"] = 3
    model = METHODS[name](**given)
    sgd, players = keras.optimizers.SGD, getattr(model, "learners", None)
    model.compile({x: sgd(0.1) for x in players} if players else sgd(0.1))
    before = [np.array(v) for v in model.trainable_variables]
    options = {"batch_size": 4, "shuffle": False, "verbose": 0}
    history = model.fit(*data, epochs=2, **options)
    after = [np.array(v) for v in model.trainable_variables]
    assert any((x != y).any() for x, y in zip(before, after))
    assert np.isfinite([*history.history.values()]).all()
    return history.history, after


# One is enough to see on TensorFlow that the file is of it.
@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=[on_jax] * (x != "psst")) for x in METHODS],
)
def test_losses_are_those_of_the_other_backend(name):
    logs, _ = trained(name)
    if name in KNOWN:
        found = logs["speaker/loss" if "loss" not in logs else "loss"]
        np.testing.assert_allclose(found, KNOWN[name], 1e-4, 1e-6)


@on_jax
def test_two_devices_train_as_one():
    logs, weights = trained("scst")
    with open_strategy().scope():
        others, found = trained("scst")
    for name, values in logs.items():
        np.testing.assert_allclose(others[name], values, 1e-4, 1e-6)
    for one, other in zip(weights, found):
        np.testing.assert_allclose(other, one, 1e-4, 1e-6)


@on_jax
def test_a_step_that_is_not_finite_moves_no_weight():
    speaker = stranger.speaker()

    def worth(rollout, episode):
        return 0.0 / keras.ops.zeros_like(rollout.mask[..., 0])

    model = JointTraining(speaker, ScoreFunction(worth, Sample(max_length=3)))
    model.compile(keras.optimizers.SGD(0.1))
    before = speaker.get_weights()
    with pytest.raises(FloatingPointError, match="`worth` is nan, after 0"):
        model.fit(stranger.batch(), verbose=0)
    for one, other in zip(before, speaker.get_weights()):
        np.testing.assert_array_equal(one, other)


@on_jax
def test_speakers_are_evaluated_after_every_epoch():
    speaker = stranger.speaker()
    model = METHODS["mle"](speaker)
    model.compile(keras.optimizers.SGD(0.1))
    data, other = stranger.batch(8), stranger.batch(6, seed=1)
    evaluator = Evaluator(
        speaker,
        other,
        stranger.listener(),
        decoder=Greedy(stranger.LENGTH),
        image="pixels",
    )
    history = model.fit(data, epochs=2, callbacks=[evaluator], verbose=0)
    assert len(history.history["val_r_5"]) == 2
    assert history.history["val_r_5"][-1] == evaluator().scores["r@5"]


@on_jax
def test_what_resumes_needs_tensorflow(tmp_path):
    with pytest.raises(NotImplementedError, match="KERAS_BACKEND=tensorflow"):
        Resume(tmp_path)


if __name__ == "__main__":
    keras.random.uniform = hashed
    found = {}
    for each in KNOWN:
        logs, _ = trained(each)
        found[each] = logs["speaker/loss" if "loss" not in logs else "loss"]
    FILE.write_text(json.dumps(found, indent=1) + "\n")
