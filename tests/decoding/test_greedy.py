import numpy as np
from keras import ops

from tests import tiny
from tfcap.decoding import Greedy


def test_every_word_is_the_most_likely_one():
    for seed in range(5):
        speaker = tiny.TableSpeaker(seed, scale=2.0)
        table = ops.convert_to_numpy(speaker.table)
        said = tiny.decode(Greedy(max_length=4), speaker)
        last, expected = tiny.BOS, []
        for _ in range(4):
            last = tiny.WORDS[int(table[last][list(tiny.WORDS)].argmax())]
            expected.append(last)
            if last == tiny.EOS:
                break
        expected += [0] * (4 - len(expected))
        np.testing.assert_array_equal(said.tokens, [[expected], [expected]])
