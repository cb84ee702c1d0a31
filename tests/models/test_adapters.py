"""Adapters of this project's own speakers, switched off."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import tiny
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.decoding.speaker import guided
from tfcap.layers import Categorical
from tfcap.models import ShowTellSpeaker
from tfcap.models import WithoutAdapters
from tfcap.objectives import Episode
from tfcap.rewards import KLPenalty


def decoders(unroll):
    samples = Categorical(seed=0)
    return Greedy(9, unroll=unroll), Sample(samples, 3, 9, unroll=unroll)


@pytest.mark.parametrize("unroll", [True, False])
def test_it_says_what_it_said_before_it_was_adapted(unroll):
    keras.utils.set_random_seed(0)
    speaker = ShowTellSpeaker(30, units=8)
    batch = {"image": np.random.normal(size=(6, 1, 4)).astype("float32")}
    batch["caption"] = np.full((6, 1, 3), 5)
    speaker(batch)
    for weight in speaker.trainable_variables:
        weight.assign(keras.random.normal(weight.shape, stddev=0.7))

    def said(speaker):
        return [
            np.array(decoder.decode(speaker, speaker.begin(batch)).tokens)
            for decoder in decoders(unroll)
        ]

    before = said(speaker)
    speaker.state_gates.enable_lora(2)
    for weight in speaker.state_gates.trainable_variables:
        weight.assign(keras.random.normal(weight.shape, stddev=3.0))
    reference = WithoutAdapters(speaker)
    for one, other, adapted in zip(before, said(reference), said(speaker)):
        np.testing.assert_array_equal(one, other)
        assert (one != adapted).any()


class Adapted(tiny.TableSpeaker):
    """One of a user's own, without `logits()`, with a layer of that name."""

    def __init__(self):
        super().__init__(1)
        self.logits = keras.layers.Dense(5)
        self.logits.build((None, 5))
        self.logits.enable_lora(1)

    def step(self, words, state, training=False):
        logits, state = super().step(words, state, training)
        return self.logits(logits), state

    def unconditional(self, state):
        return state


def test_a_layer_called_logits_is_no_method():
    speaker = Adapted()
    reference = WithoutAdapters(speaker)
    episode = Episode(speaker, tiny.batch(3))
    samples = Sample(Categorical(seed=0), 2, 3, suppress=(4,))
    rollout = episode.rollout(samples).stop_gradient()
    # Adapters begin at 0.
    found = KLPenalty(reference)(rollout, episode)
    np.testing.assert_allclose(found, 0.0, atol=1e-5)
    same, state = guided(speaker, speaker.begin(tiny.batch(3)), 2.0)
    scores = same.log_probs(state, ops.cast(rollout.tokens, "int32"))
    np.testing.assert_allclose(
        scores,
        speaker.log_probs(speaker.begin(tiny.batch(3)), rollout.tokens),
        atol=1e-5,
    )
