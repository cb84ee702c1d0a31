"""Padding apart from id 0, and several end tokens."""

import itertools

import numpy as np
import pytest
from keras import ops

from tfcap._ops import reference_mask
from tfcap._ops import sequence_mask
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import GroundTruth
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.decoding import score_candidates
from tfcap.decoding import stepwise_log_probs
from tfcap.layers import Categorical

#: End tokens and padding, among ids of which 0 is a word.
SPECIAL = {"apart": ((3, 4), 5), "one": (4, 4), "among": ((3, 4), 4)}


class Speaker:
    """Says all of six words but padding and the start token."""

    vocabulary_size, bos = 6, 1

    def __init__(self, eos, pad):
        self.eos, self.pad = eos, pad

    def begin(self, inputs, training=False):
        return ops.zeros((2, 1))

    def step(self, words, state, training=False):
        logits = np.array([1.0, 2.0, 0.4, 0.2, 0.1, 0.3], "float32")
        return ops.broadcast_to(logits, (ops.shape(state)[0], 6)), state


def mask_by_loop(row, eos, pad):
    """1 up to the first end token, and before padding."""
    mask, ends = np.zeros(len(row)), np.atleast_1d(eos)
    for place, token in enumerate(row):
        if token == pad and token not in ends:
            break
        mask[place] = 1
        if token in ends:
            break
    return mask


@pytest.mark.parametrize("special", SPECIAL)
def test_masks_end_with_the_first_of_the_end_tokens(special):
    eos, pad = SPECIAL[special]
    rows = np.array(list(itertools.product((0, 2, 3, 4, 5), repeat=3)))
    expected = np.array([mask_by_loop(row, eos, pad) for row in rows])
    found = ops.convert_to_numpy(sequence_mask(rows, eos, pad))
    np.testing.assert_array_equal(found, expected)
    present = ops.convert_to_numpy(reference_mask(rows, eos, pad))
    expected[rows[:, 0] == pad] = 0
    np.testing.assert_array_equal(present, expected)


def decoders():
    return (
        Sample(Categorical(seed=0), 40, max_length=4),
        Greedy(4),
        BeamSearch(width=6, max_length=4),
        MixedPrefix(2, max_length=4, seed=0),
    )


@pytest.mark.parametrize("special", SPECIAL)
def test_decoders_fill_with_the_padding(special):
    eos, pad = SPECIAL[special]
    speaker = Speaker(eos, pad)
    human = np.array([[[0, 2, 4]], [[pad] * 3]])
    for decoder in decoders():
        rollout = decoder.decode(speaker, speaker.begin(None), human)
        tokens = ops.convert_to_numpy(rollout.tokens)
        mask = ops.convert_to_numpy(rollout.mask)
        for row, own in zip(tokens.reshape(-1, 4), mask.reshape(-1, 4)):
            assert (row[own == 0] == pad).all()
            if own.any():
                np.testing.assert_array_equal(own, mask_by_loop(row, eos, pad))
        never = {1, pad} - {*np.atleast_1d(eos)}
        assert not np.isin(tokens[mask > 0], [*never]).any()
        assert (tokens[mask > 0] == 0).any()
        if rollout.log_probs is not None and rollout.given is None:
            again = stepwise_log_probs(
                speaker,
                speaker.begin(None),
                rollout.tokens,
                logits_processors=decoder.logits_processors,
            )
            np.testing.assert_allclose(rollout.log_probs, again, atol=1e-6)
    given = GroundTruth().decode(speaker, None, human).mask
    np.testing.assert_array_equal(given, [[[1, 1, 1]], [[0, 0, 0]]])


@pytest.mark.parametrize("special", SPECIAL)
def test_continuations_fill_with_the_padding(special):
    eos, pad = SPECIAL[special]
    speaker = Speaker(eos, pad)
    sample = Sample(Categorical(seed=0), 8, max_length=4)
    rollout = sample.decode(speaker, speaker.begin(None))
    said = sample.continuations(speaker, speaker.begin(None), rollout, 3)
    tokens = ops.convert_to_numpy(said.tokens).reshape(-1, 4)
    for row, own in zip(tokens, ops.convert_to_numpy(said.mask).reshape(-1, 4)):
        assert (row[own == 0] == pad).all()
        if own.any():
            np.testing.assert_array_equal(own, mask_by_loop(row, eos, pad))
    assert (tokens == 0).any()


def test_candidates_may_hold_id_0():
    speaker = Speaker((3, 4), 5)
    answers = np.array([[0, 2, 4, 5], [2, 3, 5, 5], [0, 0, 0, 0]])
    options = np.array([[0, 1, 2], [2, 2, -1]])
    expected = stepwise_log_probs(
        speaker,
        speaker.begin(None),
        np.stack([answers, answers]),
        logits_processors=Greedy(4).logits_processors,
    )
    expected = np.sum(expected, axis=-1)[0]
    found = score_candidates(speaker, speaker.begin(None), answers, options)
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)
    assert found[1, 2] == -np.inf


class Impossible(Speaker):
    """Gives no chance to padding, nor to the start token."""

    suppressed_ids = (0, 1)

    def __init__(self):
        super().__init__(2, 0)

    def step(self, words, state, training=False):
        logits, state = super().step(words, state, training)
        return logits + np.array([-np.inf] * 2 + [0.0] * 4, "float32"), state


def test_padding_may_be_impossible():
    speaker = Impossible()
    tokens = np.array([[[3, 2, 0]], [[2, 0, 0]]])
    scores = stepwise_log_probs(speaker, speaker.begin({}), tokens)
    scores = ops.convert_to_numpy(scores)
    assert np.isfinite(scores).all() and (scores[tokens == 0] == 0).all()
    for unroll in (True, False):
        rollout = ScheduledSampling(0.5, unroll=unroll).decode(
            speaker, speaker.begin({}), tokens, training=True
        )
        scores = ops.convert_to_numpy(rollout.log_probs)
        assert np.isfinite(scores).all() and (scores[tokens == 0] == 0).all()
