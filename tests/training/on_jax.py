"""Training on JAX, see `tests/test_jax_backend.py`."""

import keras
import numpy as np
import pytest

from tests import dialogs
from tests.methods import stranger
from tests.methods.test_arguments import METHODS
from tests.methods.test_arguments import networks_of
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.objectives import ScoreFunction
from tfcap.training import Evaluator
from tfcap.training import JointTraining
from tfcap.training import Resume
from tfcap.training import open_strategy


def trained(name, data):
    """Losses of two epochs, and the weights after them."""
    keras.utils.set_random_seed(0)
    model = METHODS[name](**networks_of(METHODS[name]))
    model.compile({name: keras.optimizers.SGD(0.1) for name in model.learners})
    before = [np.array(v) for v in model.trainable_variables]
    history = model.fit(data, batch_size=4, epochs=2, shuffle=False, verbose=0)
    after = [np.array(v) for v in model.trainable_variables]
    assert any((x != y).any() for x, y in zip(before, after))
    assert np.isfinite([*history.history.values()]).all()
    return history.history, after


@pytest.mark.parametrize(
    "name", ["mle", "psst", "sr_pl", "wtf_rl", "mixer", "ppo", "dpo", "gdis"]
)
def test_methods_train(name):
    data = stranger.batch(8)
    if name == "gdis":
        (data,) = dialogs.batches().dataset(1).take(1).as_numpy_iterator()
    trained(name, data)


def test_two_devices_train_as_one():
    logs, weights = trained("scst", stranger.batch(8))
    with open_strategy().scope():
        others, found = trained("scst", stranger.batch(8))
    for name, values in logs.items():
        np.testing.assert_allclose(others[name], values, 1e-4, 1e-6)
    for one, other in zip(weights, found):
        np.testing.assert_allclose(other, one, 1e-4, 1e-6)


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


def test_what_resumes_needs_tensorflow(tmp_path):
    with pytest.raises(NotImplementedError, match="KERAS_BACKEND=tensorflow"):
        Resume(tmp_path)
