import numpy as np
import pytest

from tests import tiny
from tests.enumerated import Everything
from tests.enumerated import Known
from tests.enumerated import gradient
from tfcap.objectives import Episode
from tfcap.objectives import StructureLoss
from tfcap.objectives.ranking import STRUCTURES

TOKENS = tiny.captions()
REWARDS = np.array([0.3, 1.0, -0.5, 0.2, 0.2, 0.7, -1.0], "float32")


def wanted(kind, s, scale):
    """The loss of the paper, its cost one minus the reward."""
    cost = scale * (1.0 - REWARDS)
    best, top = REWARDS.argmax(), s.argmax()
    share = np.exp(s) / np.exp(s).sum()
    others = np.arange(len(s)) != best
    hinges = np.maximum(0.0, cost - cost[best] - s[best] + s)
    return {
        # Less that of the best caption, which is a constant.
        "risk": (share * cost).sum() - cost[best],
        "sequence_likelihood": -np.log(share[best]),
        "softmax_margin": -s[best]
        + np.log(np.exp(s + cost).sum())
        - cost[best],
        "max_margin": hinges[top],
        "multi_margin": hinges[others].sum(),
    }[kind]


@pytest.mark.parametrize("kind", STRUCTURES)
def test_losses_by_the_paper(kind):
    speaker = tiny.TableSpeaker(1)
    scale = 1.0 if kind == "sequence_likelihood" else 0.5
    made = StructureLoss(Known(REWARDS[None]), Everything(), kind, scale)
    losses, _, logs = made.per_sample_loss(Episode(speaker, tiny.batch(1)))
    s = np.log(tiny.chances(speaker)) / (TOKENS > 0).sum(-1)
    assert float(losses[0, 0]) == pytest.approx(wanted(kind, s, 0.5), 1e-4)
    right = float(s.argmax() == REWARDS.argmax())
    assert float(logs["accuracy"][0, 0]) == right


@pytest.mark.parametrize("kind", STRUCTURES)
def test_a_row_without_a_human_word_teaches_nothing(kind):
    speaker = tiny.TableSpeaker(1)
    made = StructureLoss(Known(REWARDS[None]), Everything(), kind)
    alone, beside = (
        gradient(speaker, made, tiny.batch(len(human), human))[0]
        for human in ([[[3, 2, 0]]], [[[3, 2, 0]], [[0, 0, 0]]])
    )
    assert alone.any()
    np.testing.assert_allclose(beside, alone, rtol=1e-5, atol=1e-6)


def test_arguments_are_refused_with_the_cure():
    with pytest.raises(ValueError, match="`loss` must be one of"):
        StructureLoss(Known(REWARDS[None]), Everything(), "hinge")
