import numpy as np
import pytest

from tests import tiny
from tfcap.decoding import SumAndSample
from tfcap.decoding.loop import read_again
from tfcap.decoding.rollout import NONE
from tfcap.decoding.sum_and_sample import _Others

LENGTH = 3
TOKENS = tiny.captions(LENGTH)


@pytest.fixture(scope="module", params=[tiny.TableSpeaker, tiny.MemorySpeaker])
def said(request):
    """A speaker, its rollout of two rows, and the probability of captions."""
    speaker = request.param(1)
    decoder = SumAndSample(4, 3, LENGTH, seed=0)
    p = np.array(tiny.chances(speaker, LENGTH))
    return speaker, tiny.decode(decoder, speaker), p


def test_weights_are_exact_for_the_beam_and_share_the_rest(said):
    _, rollout, p = said
    known = {tuple(words): q for words, q in zip(TOKENS.tolist(), p)}
    likeliest = sorted(known, key=known.get, reverse=True)[:4]
    for tokens, weights in zip(
        *map(np.array, (rollout.tokens, rollout.weights))
    ):
        beam = [*map(tuple, tokens[:4].tolist())]
        assert set(beam) == set(likeliest)
        np.testing.assert_allclose(
            weights[:4], [known[words] for words in beam], rtol=1e-4
        )
        rest = (1.0 - sum(known[words] for words in beam)) / 3
        np.testing.assert_allclose(weights[4:], rest, rtol=1e-4)
        assert not set(map(tuple, tokens[4:].tolist())) & set(beam)


def test_the_rest_is_drawn_as_it_is_distributed(said):
    """By the product of the distributions that words are drawn from."""
    speaker, rollout, p = said
    beam = rollout.tokens[:1, :4]
    state = speaker.begin(tiny.batch(1))
    scores = speaker.log_probs(state, beam)
    count = len(TOKENS)
    others = _Others(
        NONE.for_speaker(speaker),
        np.repeat(beam, count, axis=0),
        np.repeat(scores, count, axis=0),
    )
    others.in_use = True
    mask = (TOKENS > 0).astype("float32")
    _, found = read_again(
        speaker, state, TOKENS[None], mask[None], others, False
    )
    found = np.exp(np.array(found)[0].sum(-1))
    in_beam = (TOKENS[:, None] == np.array(beam[0])[None]).all(-1).any(-1)
    wanted = np.where(in_beam, 0.0, p) / p[~in_beam].sum()
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("width, count", [(7, 7), (5, 3)])
def test_nothing_is_drawn_where_the_beam_finds_everything(width, count):
    speaker = tiny.TableSpeaker(0)
    if count == 3:  # one word less, which the beam cannot know
        speaker.table.assign(speaker.table - 1e9 * np.eye(5)[4])
    rollout = tiny.decode(SumAndSample(width, 2, 2, seed=0), speaker)
    np.testing.assert_array_equal(
        rollout.nonempty, [[i < count for i in range(width + 2)]] * 2
    )
    weights = np.array(rollout.weights)
    np.testing.assert_allclose(weights.sum(1), 1.0, rtol=1e-5)
    assert (weights[:, count:] == 0).all()
    assert np.min(rollout.log_probs) > -50


def test_weights_sum_to_one_where_padding_is_the_end():
    speaker = tiny.TableSpeaker(0)
    speaker.pad = tiny.EOS
    rollout = tiny.decode(SumAndSample(2, 2, LENGTH, seed=0), speaker)
    np.testing.assert_allclose(np.sum(rollout.weights, 1), 1.0, rtol=1e-5)
