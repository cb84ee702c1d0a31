"""What decoders refuse, and what they say of it."""

import pytest

from tests import tiny
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import GroundTruth
from tfcap.decoding import MixedPrefix
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.layers import GumbelSoftmaxST

RELAXED = {"channel": GumbelSoftmaxST(seed=0), "feedback": "relaxed"}
NOT_IDS = "`suppress` must be a tuple"
NO_SIZE = "`no_repeat_ngram` must be an"
NO_CHANCE = r"`probability` must be in \[0, 1\]"


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        (Sample, {"feedback": "soft"}, "`feedback`.*feedback='soft'"),
        (Sample, {"num_samples": 0}, "`num_samples`.*num_samples=0"),
        (Sample, {"max_length": 0}, "`max_length`.*max_length=0"),
        (Sample, {"channel": "gumbel"}, "`channel`.*channel='gumbel'"),
        (Sample, {"top_k": 0}, "`top_k` must be"),
        (Sample, {"top_k": 1.5}, "`top_k` must be"),
        (Sample, {"top_p": 0}, "`top_p` must be"),
        (Sample, {"unroll": "never"}, "`unroll` must"),
        (Sample, {"unroll": False, **RELAXED}, "`unroll` must"),
        (BeamSearch, {"width": 4, "num_samples": 5}, "`num_samples`.*width=4"),
        (BeamSearch, {"width": 5, "groups": 0}, "`groups` must be a positive"),
        (BeamSearch, {"width": 5, "groups": 2}, "`groups` must be a positive"),
        (BeamSearch, {"width": 5, "groups": 1.0}, "`groups` must be a posit"),
        (BeamSearch, {"diversity": -0.1}, "`diversity` must be 0 or more"),
        (Greedy, {"guidance": -1.0}, "`guidance` must be 0 or more"),
        (MixedPrefix, {"prefix": -1}, "`prefix` must be a number"),
        (MixedPrefix, {"prefix": 1.5}, "`prefix` must be a number"),
        (MixedPrefix, {"prefix": None}, "`prefix` must be a number"),
        (MixedPrefix, {"prefix": 2, "suppress": 4}, NOT_IDS),
        (ScheduledSampling, {"probability": -0.1}, NO_CHANCE),
        (ScheduledSampling, {"probability": 1.5}, NO_CHANCE),
        (ScheduledSampling, {"probability": float("nan")}, NO_CHANCE),
        (ScheduledSampling, {"probability": "half"}, NO_CHANCE),
        (Sample, {"suppress": 3}, NOT_IDS),
        (Sample, {"suppress": (-1,)}, NOT_IDS),
        (Greedy, {"suppress": ("UNK",)}, NOT_IDS),
        (Greedy, {"suppress": (1.5,)}, NOT_IDS),
        (BeamSearch, {"suppress": None}, NOT_IDS),
        (Sample, {"no_repeat_ngram": -1}, NO_SIZE),
        (Greedy, {"no_repeat_ngram": 1.0}, NO_SIZE),
        (BeamSearch, {"no_repeat_ngram": None}, NO_SIZE),
    ],
)
def test_an_argument_is_refused_by_its_name(kind, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        kind(**arguments)


@pytest.mark.parametrize(
    "decoder", [GroundTruth(), MixedPrefix(2), ScheduledSampling(0.5)]
)
def test_absent_references_are_refused(decoder):
    with pytest.raises(ValueError, match="`references`"):
        tiny.decode(decoder, tiny.TableSpeaker(), training=True)
