"""Several rewards at once."""

import keras
import numpy as np
from keras import ops

from tfcap.rewards.reward import Reward


class WeightedSum(Reward):
    """A weighted sum of rewards, each of which is logged.

    ```
    reward = sum_i weight_i * reward_i
    ```

    Mean and standard deviation of every term are logged before it is
    weighted: which term decides shows in `weight_i` times its deviation.

    Args:
        weighted: Iterable of pairs `(weight, reward)`, a weight being a number
            or a `keras.Variable`, which a callback can change during training.
        name: String. Defaults to `"weighted_sum"`.

    Attributes:
        terms: Tuple of the names of the terms, numbered where they repeat.
        differentiable: Boolean, whether all of the terms are.
        learning: Boolean, whether no term was built with `learning=False`.
        compares_samples: Boolean, whether any of the terms does.
        reads_log_probs: Boolean, whether any of the terms does.

    Example:

    >>> reward = tfcap.rewards.BLEU(4) + 2.0 * tfcap.rewards.ROUGEL()
    >>> reward.terms
    ('bleu_4', 'rouge_l')
    >>> [weight for weight, _ in reward.weighted]
    [1.0, 2.0]
    """

    def __init__(self, weighted, name="weighted_sum"):
        self.weighted = tuple((weight, reward) for weight, reward in weighted)
        self.name = name
        for weight, reward in self.weighted:
            _check(weight, reward)
        if not self.weighted:
            raise ValueError(
                "`weighted` must hold at least one pair (weight, reward). "
                "Received: none."
            )
        rewards = [reward for _, reward in self.weighted]
        self.terms = _distinct(reward.name for reward in rewards)
        self.differentiable = all(r.differentiable for r in rewards)
        self.learning = all(getattr(r, "learning", True) for r in rewards)
        self.compares_samples = any(r.compares_samples for r in rewards)
        self.reads_log_probs = any(r.reads_log_probs for r in rewards)

    def call(self, rollout, episode):
        return self.measure(rollout, episode)[0]

    def measure(self, rollout, episode):
        values = [reward(rollout, episode) for _, reward in self.weighted]
        return self._total(values), dict(zip(self.terms, values))

    def credited(self, rollout, episode):
        found = [r.credited(rollout, episode) for _, r in self.weighted]
        credits_, values, _ = zip(*found)
        terms = dict(zip(self.terms, values))
        return self._total(credits_), self._total(values), terms

    def _total(self, values):
        # Credit for every word of one term beside one number of another.
        rank = max(len(value.shape) for value in values)
        total = 0.0
        for (weight, _), value in zip(self.weighted, values):
            if len(value.shape) < rank:
                value = value[..., None]
            total = total + ops.cast(weight, value.dtype) * value
        return total


def _check(weight, reward):
    if not isinstance(reward, Reward):
        raise TypeError(
            "`weighted` must hold pairs (weight, reward) of a number or a "
            "`keras.Variable` and a `tfcap.rewards.Reward`. Received: "
            f"({weight!r}, {reward!r})."
        )
    if not isinstance(weight, keras.Variable | int | float | np.number):
        raise TypeError(
            "`weighted` must hold weights that are numbers or "
            f"`keras.Variable`s. Received: weight={weight!r} for "
            f"{reward.name!r}."
        )


def _distinct(names):
    found = []
    for name in names:
        numbered, count = name, 1
        while numbered in found:
            count += 1
            numbered = f"{name}_{count}"
        found.append(numbered)
    return tuple(found)
