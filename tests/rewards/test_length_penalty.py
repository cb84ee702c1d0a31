from types import SimpleNamespace as Namespace

import numpy as np
import pytest

from tfcap.decoding import Rollout
from tfcap.rewards import LengthPenalty

TOKENS = np.zeros((1, 6, 8), "int32")
for row, words in enumerate((1, 4, 5, 6, 7)):
    TOKENS[0, row, :words] = 3
    TOKENS[0, row, words] = 2
TOKENS[0, 5] = 3
SAID = Rollout(TOKENS, (TOKENS > 0).astype("float32"))


def test_it_falls_over_the_last_words_to_that_of_an_unfinished_caption():
    episode = Namespace(speaker=Namespace(eos=2))
    # Of 2, 5, 6, 7 and 8 words with the end, and 8 without.
    found = LengthPenalty(buffer=3, max_length=8)(SAID, episode)
    wanted = [0.0, 0.0, -1 / 3, -2 / 3, -1.0, -1.0]
    np.testing.assert_allclose(found[0], wanted, rtol=1e-6)


def test_no_more_words_than_there_are():
    with pytest.raises(ValueError, match="`buffer` must be.*buffer=9 with"):
        LengthPenalty(9, 8)
