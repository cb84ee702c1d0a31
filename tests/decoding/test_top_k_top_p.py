"""Sampling from the likely words alone."""

import numpy as np
import pytest

from tests import tiny
from tfcap.decoding import Sample
from tfcap.decoding.rollout import top_k_top_p
from tfcap.layers import Categorical

LOGITS = np.log(np.array([[0.4, 0.05, 0.3, 0.05, 0.2]], "float32"))


def left(**options):
    return np.flatnonzero(np.array(top_k_top_p(LOGITS, **options))[0] > -1e6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"top_k": 1}, [0]),
        ({"top_k": 3}, [0, 2, 4]),
        ({"top_k": 9}, [0, 1, 2, 3, 4]),
        ({"top_p": 0.3}, [0]),
        ({"top_p": 0.41}, [0, 2]),
        ({"top_p": 0.9}, [0, 2, 4]),
        ({"top_p": 1.0}, [0, 1, 2, 3, 4]),
        ({}, [0, 1, 2, 3, 4]),
        # Of what top_k leaves, 4/7 and 3/7.
        ({"top_k": 2, "top_p": 0.5}, [0]),
        ({"top_k": 2, "top_p": 0.6}, [0, 2]),
    ],
)
def test_the_likely_words_stay(options, words):
    np.testing.assert_array_equal(left(**options), words)


def test_rows_are_truncated_by_themselves():
    logits = np.concatenate([LOGITS, LOGITS[:, ::-1] - 50])
    found = np.array(top_k_top_p(logits, top_p=0.41)) > -1e6
    np.testing.assert_array_equal(found[1], found[0, ::-1])


@pytest.mark.parametrize("options", [{"top_k": 2}, {"top_p": 0.7}])
def test_log_probs_and_scores_are_of_what_is_left(options):
    speaker = tiny.TableSpeaker(3)
    decoder = Sample(Categorical(seed=0), 2, 3, **options)
    said = tiny.decode(decoder, speaker, 40)
    found, table = np.array(said.log_probs), np.array(speaker.table)
    table[:, [0, tiny.BOS]] = -1e9
    kept = np.array(top_k_top_p(table, **options), "float64")
    for row, s, t in np.ndindex(found.shape):
        word = int(said.tokens[row, s, t])
        last = int(said.tokens[row, s, t - 1]) if t else tiny.BOS
        expected = tiny.scores(kept[last], range(5))[word] if word else 0.0
        np.testing.assert_allclose(found[row, s, t], expected, atol=1e-5)
    np.testing.assert_allclose(said.scores, found.sum(-1), rtol=1e-6, atol=1e-6)
