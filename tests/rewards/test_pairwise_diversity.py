import numpy as np
import pytest

from tests import captions
from tfcap import text
from tfcap.decoding import Rollout
from tfcap.rewards import PairwiseDiversity

BATCH = captions.Batch(samples=4)
#: Long enough for 4-grams, so that the usual constants are never needed.
LONG = captions.Batch(samples=4)
for _rows in LONG.captions:
    _rows[:] = [(c * 8)[:7] for c in _rows]
LONG.tokens = np.stack([captions.encode(c, 8) for c in LONG.captions])


def score(distance, tokens, **arguments):
    reward = PairwiseDiversity(distance, jit_compile=False, **arguments)
    return np.asarray(reward(captions.rollout(tokens), captions.episode()))


def bleu34(said, references):
    third, fourth = text.bleu([said], [references])[2:]
    return third.each[0] + fourth.each[0]


def mean_of_others(distance, tokens):
    said = [[captions.ids(row) for row in rows] for rows in tokens]
    return [
        [
            np.mean([distance(c, o) for j, o in enumerate(rows) if j != i])
            for i, c in enumerate(rows)
        ]
        for rows in said
    ]


def one_way(one, two):
    return 2 - bleu34(one, [two])


def both_ways(one, two):
    return (one_way(one, two) + one_way(two, one)) / 2


def test_bleu_distances_are_those_of_all_pairs_in_both_directions():
    wanted = mean_of_others(both_ways, LONG.tokens)
    found = score("bleu", LONG.tokens)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_of_captions_of_other_lengths_neither_direction_is_enough():
    """Brevity costs the shorter caption alone."""
    said = [
        [captions.WORDS[first : first + n] for n in (4, 5, 7, 6)]
        for first in (0, 3)
    ]
    tokens = np.stack([captions.encode(rows, 8) for rows in said])

    wanted = mean_of_others(both_ways, tokens)
    alone = mean_of_others(one_way, tokens)
    assert np.abs(np.subtract(alone, wanted)).max() > 0.01
    found = score("bleu", tokens)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_self_bleu_takes_the_other_samples_as_references():
    wanted = []
    for rows in LONG.tokens:
        said = [captions.ids(row) for row in rows]
        for i, caption in enumerate(said):
            wanted.append(2 - bleu34(caption, said[:i] + said[i + 1 :]))
    found = score("self_bleu", LONG.tokens).ravel()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("distance", ["bleu", "self_bleu"])
def test_samples_that_are_alike_have_no_distance_however_short(distance):
    for words in ([], ["bus"], ["red", "bus"], ["a", "dog", "plays", "on"]):
        tokens = captions.encode([words] * 3, 6)[None]
        found = score(distance, tokens, count_eos=False)
        np.testing.assert_allclose(found, 0, atol=1e-5)


@pytest.mark.parametrize("distance", ["bleu", "self_bleu"])
@pytest.mark.parametrize(
    "said",
    [
        [["a", "dog", "plays", "on"], ["red"] * 4],
        # Saying nothing is far from saying something.
        [[], ["a", "dog"], ["red", "bus"]],
    ],
)
def test_samples_without_a_common_word_are_as_far_as_can_be(distance, said):
    found = score(distance, captions.encode(said, 5)[None], count_eos=False)
    np.testing.assert_allclose(found, 2, rtol=1e-4, atol=1e-6)


def test_the_order_of_samples_does_not_matter():
    order = [2, 0, 3, 1]
    for distance in ("bleu", "self_bleu"):
        found = score(distance, BATCH.tokens)
        moved = score(distance, BATCH.tokens[:, order])
        np.testing.assert_allclose(found[:, order], moved, rtol=1e-5, atol=1e-6)


def test_one_sample_has_nothing_to_differ_from():
    with pytest.raises(ValueError, match="at least 2 samples of each row"):
        score("bleu", BATCH.tokens[:, :1])
    with pytest.raises(ValueError, match="`distance` must be one of"):
        PairwiseDiversity("cosine")


@pytest.mark.parametrize("count_eos", [True, False])
@pytest.mark.parametrize("distance", ["bleu", "self_bleu"])
def test_captions_that_end_otherwise_are_alike(distance, count_eos):
    episode = captions.episode()
    episode.speaker.eos = (2, 3)
    tokens = np.array([[[5, 6, 7, 8, 2], [5, 6, 7, 8, 3]]])
    said = Rollout(tokens, np.ones(tokens.shape, "float32"))
    reward = PairwiseDiversity(distance, count_eos, jit_compile=False)
    np.testing.assert_allclose(reward(said, episode), [[0, 0]], atol=1e-5)
