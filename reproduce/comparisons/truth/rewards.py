"""Verifiable rewards: truth of captions on the embedded world."""

from collections.abc import Callable

import numpy as np
from keras import ops

from reproduce.comparisons.truth.reader_network import Answers
from reproduce.world.truth import Truth
from tfcap.data import CaptionBatches
from tfcap.rewards import Reward
from tfcap.rewards import TextReward


class NumberedBatches(CaptionBatches):
    """Batches with the row of each image, by which its truth is known.

    Arguments are those of `tfcap.data.CaptionBatches`; inputs hold `row`
    `(B,)`, int32, beside the others.
    """

    def inputs(self, rows, numbers=None):
        found = super().inputs(rows, numbers)
        return {**found, "row": np.asarray(rows, "int32")}


def truth_function(measure: str, truth: Truth) -> Callable:
    """A measure of truth with the signature of TRL's reward functions.

    Args:
        measure: String, one of `reproduce.world.truth.MEASURES`.
        truth: `Truth` of all images.

    Returns:
        Function `(completions, row)` of n strings and the n numbers of their
        images that returns n floats in `[0, 1]`.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> from reproduce.world.truth import Truth
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> precision = truth_function("precision", Truth([Scene("sand", (ball,))]))
    >>> precision(["a red ball", "a blue ball"], row=[0, 0])
    [1.0, 0.5]
    """

    def score(completions, row):
        return [
            float(truth.score(measure, caption, int(image)))
            for caption, image in zip(completions, row, strict=True)
        ]

    score.__name__ = measure
    return score


def truth_reward(measure: str, truth: Truth, vocabulary) -> TextReward:
    """A measure of truth as a reward; batches are `NumberedBatches`."""
    return TextReward(truth_function(measure, truth), vocabulary)


class LearnedUtility(Reward):
    """Questions that a network answers correctly from the caption alone.

    ```
    reward = mean over kinds of questions of mean over questions of
             p(true answer | caption)
    ```

    Gradients reach the words, where a channel passes them.

    Args:
        network: `ReaderNetwork`, frozen.
        answers: `Answers` of all images.
    """

    differentiable = True
    name = "learned_utility"

    def __init__(self, network, answers: Answers):
        self.network = network
        self.answers = answers

    def call(self, rollout, episode):
        said = rollout.tokens if rollout.words is None else rollout.words
        row = episode.inputs["row"]
        truth = ops.take(self.answers.numbers, row, axis=0)[:, None]
        weights = ops.take(self.answers.weights, row, axis=0)[:, None]
        read = self.network({"caption": said, "mask": rollout.mask})
        probabilities = ops.softmax(read)
        picked = ops.sum(
            probabilities
            * ops.one_hot(truth, probabilities.shape[-1], dtype="float32"),
            axis=-1,
        )
        # (B, S, Q); questions that do not apply have weight 0.
        return ops.sum(picked * weights, axis=-1)
