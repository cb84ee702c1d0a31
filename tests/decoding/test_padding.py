"""Padding apart from id 0, and several end tokens."""

import functools
import itertools

import numpy as np
import pytest
from keras import ops

from tests import tiny
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


def fixed(special):
    """A speaker of six words, its end tokens and its padding."""
    eos, pad = SPECIAL[special]
    logits = [1.0, 2.0, 0.4, 0.2, 0.1, 0.3]
    return tiny.FixedSpeaker(logits, 1, eos, pad), eos, pad


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


DECODERS = [
    Sample(Categorical(seed=0), 40, max_length=4),
    Greedy(4),
    BeamSearch(width=6, max_length=4),
    MixedPrefix(2, max_length=4, seed=0),
]


def assert_padded(rollout, eos, pad):
    """After the end there is padding alone; before it, id 0 is a word."""
    tokens, mask = (
        np.array(x).reshape(-1, 4) for x in (rollout.tokens, rollout.mask)
    )
    for row, own in zip(tokens, mask):
        assert (row[own == 0] == pad).all()
        if own.any():
            np.testing.assert_array_equal(own, mask_by_loop(row, eos, pad))
    never = {1, pad} - {*np.atleast_1d(eos)}
    assert not np.isin(tokens[mask > 0], [*never]).any()
    assert (tokens[mask > 0] == 0).any()


@pytest.mark.parametrize("special", SPECIAL)
def test_decoders_fill_with_the_padding(special):
    speaker, eos, pad = fixed(special)
    human = np.array([[[0, 2, 4]], [[pad] * 3]])
    state = speaker.begin(None)
    for decoder in DECODERS:
        rollout = tiny.compiled(
            functools.partial(decoder.decode, speaker, state, human)
        )
        assert_padded(rollout, eos, pad)
        if rollout.log_probs is not None and rollout.given is None:
            processors = decoder.logits_processors
            again = stepwise_log_probs(
                speaker, state, rollout.tokens, logits_processors=processors
            )
            np.testing.assert_allclose(rollout.log_probs, again, atol=1e-6)
    given = GroundTruth().decode(speaker, None, human).mask
    np.testing.assert_array_equal(given, [[[1, 1, 1]], [[0, 0, 0]]])
    sample = DECODERS[0]
    rollout = sample.decode(speaker, state)
    assert_padded(sample.continuations(speaker, state, rollout, 3), eos, pad)


def test_candidates_may_hold_id_0():
    speaker, *_ = fixed("apart")
    state = speaker.begin(None)
    answers = np.array([[0, 2, 4, 5], [2, 3, 5, 5], [0, 0, 0, 0]])
    options = np.array([[0, 1, 2], [2, 2, -1]])
    processors = Greedy(4).logits_processors
    expected = stepwise_log_probs(
        speaker, state, np.stack([answers] * 2), logits_processors=processors
    )
    found = score_candidates(speaker, state, answers, options)
    expected = np.sum(expected, axis=-1)[0]
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)
    assert found[1, 2] == -np.inf


def test_padding_may_be_impossible():
    speaker = tiny.FixedSpeaker([-np.inf] * 2 + [0.4, 0.2, 0.1, 0.3], pad=0)
    speaker.suppressed_ids = (0, 1)
    tokens = np.array([[[3, 2, 0]], [[2, 0, 0]]])
    state = speaker.begin({})
    found = [stepwise_log_probs(speaker, state, tokens)]
    for unroll in (True, False):
        decoder = ScheduledSampling(0.5, unroll=unroll)
        rollout = decoder.decode(speaker, state, tokens, training=True)
        found.append(rollout.log_probs)
    for scores in map(np.array, found):
        assert np.isfinite(scores).all() and (scores[tokens == 0] == 0).all()
