"""Numbers of other types than Python's and float32."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import speakers
from tests import testing
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Sample
from tfcap.layers import GumbelSoftmaxST
from tfcap.objectives import Episode
from tfcap.objectives import LearnedBaseline
from tfcap.objectives import MonteCarlo
from tfcap.objectives import ScoreFunction
from tfcap.rewards import ConstantReward

THREE = np.int64(3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sample(num_samples=THREE, max_length=THREE, top_k=THREE),
        lambda: Sample(top_p=np.float32(0.5), no_repeat_ngram=THREE),
        lambda: Greedy(THREE, (THREE,), THREE),
        lambda: BeamSearch(THREE, THREE, np.float32(1), groups=THREE),
        lambda: BeamSearch(THREE, num_samples=THREE, diversity=np.float64(1)),
        lambda: MixedPrefix(THREE, THREE, seed=THREE),
        lambda: MonteCarlo(THREE, THREE),
    ],
)
def test_numbers_of_numpy_are_numbers(make):
    held = keras.tree.flatten([list(vars(make()).values())])
    assert 3 in held or 0.5 in held
    assert not any(isinstance(value, np.generic) for value in held)


def test_a_learned_baseline_takes_sizes_of_numpy():
    baseline = LearnedBaseline(THREE, (THREE,))
    assert baseline.network.input_shape == (None, 3)


def test_a_weight_of_numpy_is_a_weight():
    reward = np.float32(0.5) * ConstantReward() + ConstantReward() * np.int64(2)
    assert [float(weight) for weight, _ in reward.weighted] == [0.5, 2.0]


@pytest.mark.parametrize("kind", list(speakers.KINDS))
def test_speakers_take_sizes_of_numpy(kind):
    made, own = speakers.KINDS[kind]
    options = {"vocabulary_size": 13, **speakers.SIZES, **own, "dropout": 0.5}
    testing.check_numbers(made, options)


@pytest.fixture
def double():
    keras.config.set_floatx("float64")
    yield
    keras.config.set_floatx("float32")


@pytest.mark.parametrize("kind", ["up_down", "transformer"])
def test_all_decoders_work_in_float64(kind, double):
    speaker = speakers.speaker(kind)
    batch = speakers.batch()
    batch["image_mask"] = np.ones((5, 4))
    state = speaker.begin(batch)
    relaxed = Sample(
        GumbelSoftmaxST(), max_length=4, feedback="relaxed", num_samples=2
    )
    for decoder in (Greedy(4), BeamSearch(3, 4), relaxed):
        assert decoder.decode(speaker, state).tokens.shape[-1] == 4
    with tf.GradientTape() as tape:
        episode = Episode(speaker, batch, training=True)
        loss, _ = ScoreFunction(ConstantReward(), relaxed).loss(episode)
    slopes = tape.gradient(loss, speaker.trainable_variables)
    assert all(slope is not None for slope in slopes[:1])
    assert speaker.log_probs(state, batch["caption"]).dtype == "float32"
