"""Rewards on two replicas; their logs are those of the global batch.

Run by `tests/two_replicas.py`.
"""

import keras
import numpy as np
import tensorflow as tf

from tests import captions
from tests import tiny
from tests.ops.two_replicas import run
from tfcap.decoding import GroundTruth
from tfcap.decoding import Rollout
from tfcap.models import RetrievalListener
from tfcap.objectives import Episode
from tfcap.objectives import ScoreFunction
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import CIDErD
from tfcap.rewards import PairwiseDiversity
from tfcap.rewards import Retrieval
from tfcap.rewards import TextReward
from tfcap.rewards.text_rewards import as_reward

BATCH = captions.Batch(images=4)
HALVES = (slice(0, 3), slice(3, 4))


def rewards():
    """Rewards, and what gives their values in the eager way."""
    plain = CIDErD(captions.frequencies(), jit_compile=False)
    alone = (
        plain,
        PairwiseDiversity(jit_compile=False),
        TextReward(lambda texts: [*map(len, texts)], captions.VOCABULARY),
    )
    # XLA compiles this for seconds, once for each replica.
    compiled = CIDErD(captions.frequencies())
    return [(compiled, plain), *((reward, reward) for reward in alone)]


def values(strategy, reward, plain):
    """Every replica scores its own rows."""
    rollout = captions.rollout(BATCH.tokens)
    whole = plain(rollout, captions.episode(BATCH.human))

    def function(tokens, mask, human):
        return reward(Rollout(tokens, mask), captions.episode(human))

    arrays = rollout.tokens, rollout.mask, BATCH.human
    found = np.concatenate(run(strategy, function, *arrays, rows=HALVES))
    np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-6)


def retrieval(strategy):
    """Every replica's captions have the images and texts of all for rivals."""
    # Near a hinge's corner, float error would choose the side.
    keras.utils.set_random_seed(0)
    with strategy.scope():
        listener = RetrievalListener(captions.VOCABULARY.size, 6, 4)
        inputs = {"image": np.ones((1, 2, 3)), "caption": BATCH.tokens[:1]}
        listener(inputs)
    hinges = Retrieval(listener, 0.5, 0.5, distractors="more", same="same")
    contrast = BidirectionalContrastive(
        listener,
        texts=(GroundTruth(),),
        neighbors="near",
        same="same",
        neighbor_same="near_same",
        temperature=0.5,
        learning=True,
    )
    rng = np.random.default_rng(0)
    batch = {
        "image": rng.normal(size=(4, 2, 3)).astype("float32"),
        "more": rng.normal(size=(4, 2, 3)).astype("float32"),
        "near": rng.normal(size=(4, 2, 2, 3)).astype("float32"),
        "same": np.array([0, 1, 2, 1], "int32"),
        "near_same": np.array([[3, 0], [4, 5], [1, 3], [2, 2]], "int32"),
        "references": BATCH.human,
    }
    for reward in (hinges, contrast):
        of_listener(strategy, reward, listener, batch)


def of_listener(strategy, reward, listener, batch):
    """Values and slopes are those of the global batch."""
    rollout = captions.rollout(BATCH.tokens)
    variables = [v.value for v in listener.trainable_variables]

    def function(tokens, mask, *arrays):
        inputs = dict(zip(batch, arrays))
        episode = captions.episode()
        episode.inputs.update(inputs)
        episode.training = False
        episode.rollout = lambda decoder: decoder.decode(
            episode.speaker, None, inputs["references"]
        )
        with tf.GradientTape() as tape:
            found = reward.scored(Rollout(tokens, mask), episode)
            credit, values = found.credit(), found.values
            loss = tf.reduce_sum(values)
        slopes = tape.gradient(loss, variables)
        slopes = [tf.convert_to_tensor(x) for x in slopes]
        return tf.stack([values, credit], axis=-1), slopes

    arrays = rollout.tokens, rollout.mask, *batch.values()
    with tf.device("CPU:0"):
        whole, slopes = function(*arrays)
    assert np.abs(whole[..., 0] - whole[..., 1]).max() > 1e-2
    found, shares = zip(*run(strategy, function, *arrays, rows=HALVES))
    np.testing.assert_allclose(np.concatenate(found), whole, 1e-5, 1e-6)
    for wanted, *each in zip(slopes, *shares, strict=True):
        # Sums of large parts that cancel: to the float error of the largest.
        gap = np.abs(sum(each) - wanted).max()
        assert gap < 1e-5 * np.abs(wanted).max(), gap


def logs(strategy):
    """Means over replicas are means and deviations of the global batch."""
    human = np.array([[[3, 4, 2]], [[3, 2, 0]], [[4, 4, 2]], [[2, 0, 0]]])
    human = human.astype("int32")
    with strategy.scope():
        speaker = tiny.TableSpeaker(seed=1)

    def words(rollout, episode):
        return tf.reduce_sum(tf.cast(rollout.tokens, "float32"), axis=-1)

    def function(human):
        inputs = {"rows": tf.zeros((tf.shape(human)[0], 1))}
        inputs["references"] = human
        reward = as_reward([words, words])
        objective = ScoreFunction(reward, GroundTruth())
        return objective.loss(Episode(speaker, inputs))[1]

    found, sums = run(strategy, function, human, rows=HALVES), human.sum(-1)
    for key, wanted in (("words", sums.mean()), ("words_std", sums.std())):
        value = np.mean([each[f"weighted_sum/{key}"] for each in found])
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


def check_all(strategy):
    for reward, plain in rewards():
        values(strategy, reward, plain)
        print(reward.name)
    retrieval(strategy)
    logs(strategy)
