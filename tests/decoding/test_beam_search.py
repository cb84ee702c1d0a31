import numpy as np
import pytest
from keras import ops

from tests import tiny
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy


def search(speaker, **arguments):
    return BeamSearch(**arguments).decode(speaker, speaker.begin(tiny.batch(2)))


@pytest.mark.parametrize("seed", range(5))
def test_wide_beams_find_the_most_likely_captions_of_all(seed):
    speaker = tiny.TableSpeaker(seed)
    table = ops.convert_to_numpy(speaker.table)
    captions = tiny.captions(3)
    scores = np.log([tiny.probability(table, c) for c in captions])
    best = np.argsort(-scores)[:3]
    found = search(speaker, width=5, max_length=3)
    for row in range(2):
        np.testing.assert_array_equal(found.tokens[row, :3], captions[best])
        np.testing.assert_allclose(
            found.scores[row, :3], scores[best], rtol=1e-4
        )


def test_a_length_penalty_ranks_by_the_mean():
    speaker = tiny.TableSpeaker(3)
    table = ops.convert_to_numpy(speaker.table)
    found = search(speaker, width=5, max_length=3, length_penalty=1.0)
    for caption, score in zip(np.array(found.tokens)[0], found.scores[0]):
        if score > -1e6:
            length = (caption != 0).sum()
            expected = np.log(tiny.probability(table, caption)) / length
            np.testing.assert_allclose(score, expected, rtol=1e-4)


def test_one_beam_is_greedy():
    speaker = tiny.TableSpeaker(1)
    state = speaker.begin(tiny.batch(2))
    np.testing.assert_array_equal(
        search(speaker, width=1, max_length=4).tokens,
        Greedy(max_length=4).decode(speaker, state).tokens,
    )


def test_a_beam_wider_than_the_vocabulary_is_refused():
    with pytest.raises(ValueError, match="`width`.*width=9 with 5 words"):
        search(tiny.TableSpeaker(), width=9, max_length=2)
