"""What users see when they print an object."""

import inspect

import numpy as np
import pytest

import tfcap
from tests.test_public_api import ROOMS
from tfcap.text.scores.scores import Scores

CAPTIONS = [["a red bus", "a bus"], ["two dogs", "dogs"]]
SPLIT = tfcap.data.CaptionSplit([1, 2], CAPTIONS, ["", ""], ["", ""])
WORDS = tfcap.data.build_vocabulary(SPLIT, 1)
ENCODED = tfcap.data.EncodedCaptions.from_split(SPLIT, WORDS, 4)
BATCHES = tfcap.data.CaptionBatches(ENCODED, np.zeros((2, 1, 4)), 2)
CURVE = tfcap.curves.Curve([1.2, 1.1], [60.0, 70.0])
COMPARED = tfcap.curves.compare_curves({"scst": {0: CURVE, 1: CURVE}}, 1.15)
SUM = 2 * tfcap.rewards.ConstantReward() - tfcap.rewards.BLEU(2)
REPORT = tfcap.text.evaluate_captions(["a bus", "dogs"], CAPTIONS, ["bleu"])
RANKING = tfcap.metrics.RankingReport()
RANKING.add(np.array([[0.1, 0.9]]), truth=[1])
TOKENS = np.ones((2, 3, 16), "int32")


@pytest.mark.parametrize(
    "part, wanted",
    [
        (tfcap.decoding.BeamSearch(3), "BeamSearch(width=3, num_samples=3)"),
        (tfcap.decoding.ScheduledSampling(0.5), "value=0.5"),
        (tfcap.decoding.Rollout(TOKENS, TOKENS), "mask=int32 (2, 3, 16))"),
        (SUM, "2 * ConstantReward() + -1 * BLEU(max_order=2, "),
        (ENCODED, "(2, 2, 4), texts=[['a red bus', 'a bus']"),
        (BATCHES, "features=float64 (2, 1, 4), batch_size=2)"),
        (CURVE, "=[1.2, 1.1], recall=[60, 70], parameter=[0, 1])"),
        (COMPARED, "{0: 65, 1: 65}, seeds=2, interval=Interval(mean=65, "),
        (Scores(0.1 + 0.2, np.zeros(5000)), "(corpus=0.3, each=<list of 5,"),
        (REPORT, "BLEU-1      1.0000    1.0000    0.0000"),
        (RANKING, "mrr  r@1"),
    ],
)
def test_objects_print_what_they_are(part, wanted):
    assert wanted in repr(part)
    assert str(part) == repr(part)
    assert len(repr(part)) < 500


def test_no_export_prints_its_address():
    for name in ROOMS:
        for cls in filter(inspect.isclass, vars(getattr(tfcap, name)).values()):
            # Keras' optimizers and callbacks print as Keras has it.
            homes = {base.__module__.split(".")[0] for base in cls.__mro__}
            bare = cls.__repr__ is object.__repr__
            assert not bare or homes > {"tfcap", "builtins"}, cls
