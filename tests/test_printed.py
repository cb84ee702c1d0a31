"""What users see when they print an object."""

import inspect

import numpy as np
import pytest

import tfcap
from tests.test_public_api import ROOMS
from tfcap.metrics.reports import RetrievalReport
from tfcap.text.scores.scores import Scores

CAPTIONS = [["a red bus", "a bus"], ["two dogs", "dogs"]]
SPLIT = tfcap.data.CaptionSplit([1, 2], CAPTIONS, ["", ""], ["", ""])
ENCODED = tfcap.data.EncodedCaptions.from_split(
    SPLIT, tfcap.data.build_vocabulary(SPLIT, 1), 4
)
CURVE = tfcap.curves.Curve([1.2, 1.1], [60.0, 70.0])
REWARD = tfcap.rewards.ConstantReward()
RANKING = tfcap.metrics.RankingReport()
RANKING.add(np.array([[0.1, 0.9]]), truth=[1])
TOKENS = np.ones((2, 3, 16), "int32")


@pytest.mark.parametrize(
    "part, wanted",
    [
        (tfcap.decoding.BeamSearch(3), "BeamSearch(width=3, num_samples=3)"),
        (tfcap.decoding.ScheduledSampling(0.5), "value=0.5"),
        (
            tfcap.decoding.Rollout(TOKENS, TOKENS),
            "Rollout(tokens=int32 (2, 3, 16), mask=int32 (2, 3, 16))",
        ),
        (
            2 * REWARD - tfcap.rewards.BLEU(2),
            "2 * ConstantReward() + -1 * BLEU(max_order=2, ",
        ),
        (
            tfcap.objectives.ScoreFunction(REWARD, tfcap.decoding.Greedy()),
            "ScoreFunction(reward=ConstantReward(), decoder=Greedy()",
        ),
        (ENCODED, "references=int32 (2, 2, 4), texts=[['a red bus', 'a bus']"),
        (
            tfcap.data.CaptionBatches(ENCODED, np.zeros((2, 1, 4)), 2),
            "features=float64 (2, 1, 4), batch_size=2)",
        ),
        (
            CURVE,
            "Curve(naturalness=[1.2, 1.1], recall=[60, 70], parameter=[0, 1])",
        ),
        (
            tfcap.curves.compare_curves({"scst": {0: CURVE, 1: CURVE}}, 1.15),
            "values={0: 65, 1: 65}, seeds=2, interval=Interval(mean=65, low=65",
        ),
        (Scores(0.1 + 0.2, np.zeros(5000)), "Scores(corpus=0.3, each=<list of"),
        (
            tfcap.text.evaluate_captions(["a bus", "dogs"], CAPTIONS, ["bleu"]),
            "BLEU-1      1.0000    1.0000    0.0000",
        ),
        (RetrievalReport([1, 4], [1, 2]), "image -> text  50.00  100.00"),
        (RANKING, "mrr  r@1"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_objects_print_what_they_are(part, wanted):
    assert wanted in repr(part)
    assert str(part) == repr(part)
    assert len(repr(part)) < 500


@pytest.mark.parametrize("name", ROOMS)
def test_no_export_prints_its_address(name):
    exports = vars(getattr(tfcap, name)).values()
    classes = {value for value in exports if inspect.isclass(value)}
    bare = {cls for cls in classes if cls.__repr__ is object.__repr__}
    # Keras' optimizers and callbacks print as Keras has it.
    own = "tfcap", "builtins"
    assert not {
        cls
        for cls in bare
        if all(base.__module__.startswith(own) for base in cls.__mro__)
    }
