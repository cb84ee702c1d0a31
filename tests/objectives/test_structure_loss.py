import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import Everything
from tfcap.objectives import Episode
from tfcap.objectives import StructureLoss
from tfcap.objectives.ranking import STRUCTURES
from tfcap.rewards import Reward

TOKENS = tiny.captions()
REWARDS = np.array([0.3, 1.0, -0.5, 0.2, 0.2, 0.7, -1.0], "float32")


class Known(Reward):
    def call(self, rollout, episode):
        return ops.convert_to_tensor(REWARDS[None])


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
    made = StructureLoss(Known(), Everything(), kind, scale)
    losses, _, logs = made.per_sample_loss(Episode(speaker, tiny.batch(1)))
    s = speaker.log_probs(speaker.begin(tiny.batch(1)), TOKENS[None])
    s = s.numpy()[0].sum(-1)
    s = s / (TOKENS > 0).sum(-1)
    assert float(losses[0, 0]) == pytest.approx(wanted(kind, s, 0.5), 1e-4)
    right = float(s.argmax() == REWARDS.argmax())
    assert float(logs["accuracy"][0, 0]) == right


@pytest.mark.parametrize("kind", STRUCTURES)
def test_a_row_without_a_human_word_teaches_nothing(kind):
    speaker = tiny.TableSpeaker(1)
    made = StructureLoss(Known(), Everything(), kind)

    def gradient(references):
        with tf.GradientTape() as tape:
            batch = tiny.batch(len(references), references)
            loss, _ = made.loss(Episode(speaker, batch))
        return tape.gradient(loss, speaker.table.value).numpy()

    alone = gradient([[[3, 2, 0]]])
    assert alone.any()
    beside = gradient([[[3, 2, 0]], [[0, 0, 0]]])
    np.testing.assert_allclose(beside, alone, rtol=1e-5, atol=1e-6)


def test_arguments_are_refused_with_the_cure():
    with pytest.raises(ValueError, match="`loss` must be one of"):
        StructureLoss(Known(), Everything(), "hinge")
