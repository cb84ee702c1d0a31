"""Speakers that are somebody's model behind a few methods."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.decoding import state_vector
from tfcap.layers import Categorical
from tfcap.layers import GumbelSoftmaxST
from tfcap.objectives import Episode
from tfcap.objectives import MonteCarlo
from tfcap.objectives import ScoreFunction
from tfcap.rewards import ConstantReward

BOS, EOS = 1, 4
REFERENCES = np.array([[[3, 2, EOS]], [[2, EOS, 0]]], "int32")


#: Of six words, the likeliest are padding and the start token.
LOGITS = np.array([5.0, 4.0, 0.0, 0.5, -1.0, 0.2], "float32")


def wrapped(logits=LOGITS, eos=EOS, **options):
    return tiny.FixedSpeaker(logits, eos=eos, **options)


#: Probabilities, which are no logits.
LIKELY = [0.0, 0.0, 0.5, 0.25, 0.25, 0.0]
DECODERS = {
    "sample": lambda: Sample(Categorical(seed=0), 20, max_length=3),
    "gumbel": lambda: Sample(GumbelSoftmaxST(seed=0), 20, max_length=3),
    "greedy": lambda: Greedy(max_length=3),
    "beam": lambda: BeamSearch(width=4, max_length=3),
    "prefix": lambda: MixedPrefix(1, max_length=3),
}


@pytest.mark.parametrize("name", DECODERS)
def test_padding_and_the_start_token_are_never_said(name):
    speaker = wrapped()
    decoder = DECODERS[name]()
    rollout = decoder.decode(speaker, speaker.begin(None), REFERENCES)
    tokens, mask = map(ops.convert_to_numpy, (rollout.tokens, rollout.mask))
    assert mask.any(axis=-1).all()
    assert not np.isin(tokens[mask > 0], [0, BOS]).any()


def test_probabilities_are_of_what_may_be_said():
    speaker, decoder = wrapped(), DECODERS["sample"]()
    rollout = decoder.decode(speaker, speaker.begin(None))
    tokens = np.array(rollout.tokens)
    logits = LOGITS[2:]
    known = np.append([0, 0], logits - np.log(np.exp(logits).sum()))
    np.testing.assert_allclose(
        rollout.log_probs, known[tokens] * np.array(rollout.mask), rtol=1e-5
    )


def test_continuations_do_not_say_them():
    speaker, decoder = wrapped(), DECODERS["sample"]()
    rollout = decoder.decode(speaker, speaker.begin(None))
    said = decoder.continuations(speaker, speaker.begin(None), rollout, 5)
    tokens, mask = np.array(said.tokens), np.array(said.mask)
    assert not np.isin(tokens[mask > 0], [0, BOS]).any()
    episode = Episode(speaker, {"references": REFERENCES})
    loss, _ = ScoreFunction(
        ConstantReward(), decoder, credit=MonteCarlo(2)
    ).loss(episode)
    assert np.isfinite(loss)


def test_words_that_are_read_in_the_place_of_references_are_words():
    seen = []

    class Reading(tiny.FixedSpeaker):
        def step(self, words, state, training=False):
            seen.append(np.array(words))
            return super().step(words, state, training)

    speaker = Reading(LOGITS, eos=EOS)
    decoder = ScheduledSampling(1.0, seed=0)
    decoder.decode(speaker, speaker.begin(None), REFERENCES, training=True)
    assert len(seen) == 3 and not np.isin(seen[1:], [0, BOS]).any()


def test_one_token_may_begin_and_end_a_sequence():
    speaker = wrapped([5.0, 0.0, 0.0, 0.0, 4.0, 0.0], bos=EOS)
    rollout = Greedy(3).decode(speaker, speaker.begin(None))
    np.testing.assert_array_equal(rollout.tokens[:, 0, 0], [EOS, EOS])


def test_a_speaker_that_contradicts_itself_is_refused():
    short = wrapped()
    short.vocabulary_size = 7
    for speaker, message in (
        (wrapped(eos=0), "`speaker.eos` must not be 0"),
        (short, "`speaker.step..` must.*size=7"),
    ):
        with pytest.raises(ValueError, match=message):
            Greedy(2).decode(speaker, speaker.begin(None))


@pytest.mark.parametrize("name", DECODERS)
def test_probabilities_are_no_logits(name):
    speaker = wrapped(LIKELY)
    with pytest.raises(ValueError, match="must return logits.*before the soft"):
        DECODERS[name]().decode(speaker, speaker.begin(None), REFERENCES)
    with pytest.raises(ValueError, match="must return logits"):
        speaker.log_probs(speaker.begin(None), REFERENCES)


def test_probabilities_are_found_in_a_graph():
    speaker = wrapped(LIKELY)

    @tf.function(autograph=False)
    def decode():
        return Greedy(2).decode(speaker, speaker.begin(None)).tokens

    with pytest.raises(tf.errors.InvalidArgumentError, match="must return log"):
        decode()


def test_words_so_far_are_no_vector_of_a_state():
    words, image = np.zeros((3, 4), "int32"), np.ones((3, 2), "float32")
    np.testing.assert_array_equal(state_vector(None, [words, image]), image)
    with pytest.raises(ValueError, match="must hold a float tensor"):
        state_vector(None, [words])
