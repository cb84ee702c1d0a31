"""Objectives on two replicas: their shares add up to the loss of one.

Run by `tests/two_replicas.py`.
"""

import keras
import numpy as np
import tensorflow as tf

from tests import tiny
from tests.enumerated import Worth
from tests.ops.two_replicas import assert_
from tests.ops.two_replicas import run
from tfcap._ops import sequence_mask
from tfcap.decoding import Decoder
from tfcap.decoding import Rollout
from tfcap.models import CaptionEvaluator
from tfcap.models import PairDiscriminator
from tfcap.objectives import DiscriminatorLoss
from tfcap.objectives import Episode
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives.ranking import PreferenceLoss

HALVES = (slice(0, 3), slice(3, 4))
RNG = np.random.default_rng(0)
HUMAN = np.array(
    [
        [[3, 4, 2], [4, 2, 0]],
        [[3, 3, 2], [0, 0, 0]],
        [[4, 4, 2], [3, 2, 0]],
        [[2, 0, 0], [4, 3, 2]],
    ],
    "int32",
)
SAID = HUMAN[::-1].copy()
IMAGE = RNG.normal(size=(4, 2, 3)).astype("float32")


class Said(Decoder):
    """What stands in the batch was said."""

    def __init__(self, tokens):
        self.tokens = tokens

    def decode(self, speaker, state, references=None, training=False):
        return Rollout(self.tokens, sequence_mask(self.tokens, tiny.EOS))


def discriminator_loss(strategy, paired):
    """Every replica's images have the human captions of all for rivals."""
    with strategy.scope():
        keras.utils.set_random_seed(0)
        speaker = tiny.TableSpeaker()
        evaluator, retriever = CaptionEvaluator(tiny.VOCABULARY, 6, 4), None
        evaluator({"image": IMAGE, "caption": HUMAN})
        if paired:
            evaluator, retriever = PairDiscriminator(units=(5,)), evaluator
            one = {"image": np.ones((1, 6)), "text": np.ones((1, 1, 6))}
            evaluator(one)
    variables = [v.value for v in evaluator.trainable_variables]

    def function(image, human, said):
        inputs = {"image": image, "references": human}
        inputs["rows"] = tf.zeros((tf.shape(human)[0], 1))
        objective = DiscriminatorLoss(
            evaluator, Said(said), 0.7, 1.3, retriever
        )
        with tf.GradientTape() as tape:
            loss, logs = objective.loss(Episode(speaker, inputs))
        slopes = tape.gradient(loss, variables)
        return loss, logs, [tf.convert_to_tensor(x) for x in slopes]

    arrays = IMAGE, HUMAN, SAID
    with tf.device("CPU:0"):
        whole, logs, slopes = function(*map(tf.constant, arrays))
    parts = run(strategy, function, *arrays, rows=HALVES)
    losses, found, shares = zip(*parts)
    np.testing.assert_allclose(sum(losses), whole, rtol=1e-5, atol=1e-6)
    for key, wanted in logs.items():
        mean = np.mean([each[key] for each in found])
        np.testing.assert_allclose(mean, wanted, 1e-4)
    for slope, *each in zip(slopes, *shares, strict=True):
        np.testing.assert_allclose(sum(each), slope, rtol=1e-4, atol=1e-6)


def health(strategy, make, told):
    """What is logged of a reward is of the samples of all replicas."""
    with strategy.scope():
        speaker = tiny.TableSpeaker()
    absent = HUMAN.copy()
    absent[1] = 0

    def function(human, said):
        inputs = {"rows": tf.zeros((tf.shape(human)[0], 1))}
        decoder = Said(said)
        decoder.num_samples = 2
        inputs["references"] = human
        return make(decoder).loss(Episode(speaker, inputs))[1]

    with tf.device("CPU:0"):
        whole = function(tf.constant(absent), tf.constant(SAID))
    found = run(strategy, function, absent, SAID, rows=HALVES)
    assert_(told in whole and whole["worth/std"] > 0.01, "little to compare")
    for key, wanted in whole.items():
        mean = np.mean([each[key] for each in found])
        np.testing.assert_allclose(mean, wanted, 1e-4, 1e-6)


def check_all(strategy):
    for paired in (False, True):
        discriminator_loss(strategy, paired)

    def policy(decoder):
        return ScoreFunction(Worth(), decoder, LeaveOneOutBaseline())

    def preference(decoder):
        return PreferenceLoss(Worth(), decoder, loss="simpo", pairs="all")

    health(strategy, policy, "worth/frac_reward_zero_std")
    health(strategy, preference, "worth/accuracy")
