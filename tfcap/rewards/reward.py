"""Base class of the rewards."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
from keras import ops

from tfcap._ops import call_on_host
from tfcap._ops.sequences import with_known_sizes
from tfcap.rewards.linear import Linear

CREDITS = ("batch", "own")
#: What a reward that abstains from a sample gives it.
ABSTAINED = -np.inf


class Reward(Linear):
    """Scores what was said. Rewards go up.

    To write one, override `call()`; say in `differentiable` whether gradients
    reach the words through it, and in `name` what it is logged as.

    Rewards are added and scaled as the papers write them,

    ```
    reward = CIDErD(document_frequencies) + 0.5 * BLEU(4)
    ```

    which makes a `tfcap.rewards.WeightedSum`. A weight may be a
    `keras.Variable`, which a callback can change during training; it then
    stands on the right, `BLEU(4) * weight`, since Keras claims what stands
    right of a variable of its own. No checkpoint holds such a variable: in a
    run that is gone on with, the callback that changes it restores it, by its
    `get_state()` and `set_state(state)` (`tfcap.training.Resume`).

    Attributes:
        differentiable: Boolean.
        name: String.
        terms: Tuple of strings, names of the parts of which `measure()` tells
            beside the reward itself.
        compares_samples: Boolean, whether what one sample gets depends on the
            others that are scored beside it. `credited()` tells what a
            sample is worth to all of them.
        reads_log_probs: Boolean, whether it asks how likely the words are to
            the speaker. Such rewards are not for `MonteCarlo`.
        decoders: Tuple of the other decoders whose words it asks an episode
            for.
        abstains: Boolean, whether it may give a sample minus infinity, which
            means that it abstains: the sample teaches nothing by it, and is
            left out of baselines, deviations and logs as if it had not been
            drawn. Defaults to `False`: what is not finite is an error.
        judges: Boolean, whether its number alone is a judgement of a caption.
            False of penalties that are added to one: where the others abstain,
            they do not count. Defaults to `True`.
    """

    differentiable = False
    name = "reward"
    terms = ()
    compares_samples = False
    reads_log_probs = False
    decoders = ()
    abstains = False
    judges = True

    def call(self, rollout, episode):
        """Scores a rollout.

        Args:
            rollout: `tfcap.decoding.Rollout`.
            episode: `tfcap.objectives.Episode`, which holds the batch, the
                references and the other rollouts of this step.

        Returns:
            Float tensor of shape `(B, S)`, or `(B, S, T)` where credit is
            given to every word.
        """
        raise NotImplementedError

    def measure(self, rollout, episode):
        """Scores a rollout, and tells what to log of it.

        Args:
            rollout: `tfcap.decoding.Rollout`.
            episode: `tfcap.objectives.Episode`.

        Returns:
            What `call()` returns, and a dict with a tensor of such a shape
            for each of `terms`, of which mean and standard deviation are
            logged.
        """
        return self(rollout, episode), {}

    def measured(self, rollout, episode):
        """Scores a rollout as an estimator needs it that compares samples.

        Args:
            rollout: `tfcap.decoding.Rollout`.
            episode: `tfcap.objectives.Episode`.

        Returns:
            What `call()` returns; the reward to log, which is another where
            one is scaled to be learned from; and the dict of `measure()`.
        """
        rewards, terms = self.measure(rollout, episode)
        return rewards, rewards, terms

    def credited(self, rollout, episode):
        """Scores a rollout as `ScoreFunction` needs it.

        Where a reward compares samples, the score function of the expected
        mean reward weighs the words of a sample with the rewards of *all*
        samples, of which those that do not depend on it may be left out:

        ```
        credit[b, s] = reward[b, s] + sum over other samples (c, k) of
                       reward[c, k] - reward[c, k] without the sample (b, s)
        ```

        Its own reward alone is a biased estimate. This method returns it,
        which is right for a reward that does not compare samples; override
        it where one does.

        Args:
            rollout: `tfcap.decoding.Rollout`.
            episode: `tfcap.objectives.Episode`.

        Returns:
            Float tensor of the shape of the rewards, the credit of every
            sample; and what `measured()` returns after the rewards.
        """
        return self.measured(rollout, episode)

    def __call__(self, rollout, episode):
        values = self.call(rollout, episode)
        return with_known_sizes(values, rollout.mask)

    def __add__(self, other):
        if callable(other) and not isinstance(other, Reward):
            raise TypeError(
                "A reward must be added to a reward. Received: "
                f"{other!r}. Make one of a function of strings with "
                "`tfcap.rewards.TextReward(function)`."
            )
        return super().__add__(other)

    def _sum(self, pairs):
        return WeightedSum(pairs)


class WeightedSum(Reward):
    """A weighted sum of rewards, each of which is logged.

    ```
    reward = sum_i weight_i * reward_i
    ```

    over those that do not abstain. It abstains where all do that judge.

    Mean and standard deviation of every term are logged before it is
    weighted: which term decides shows in `weight_i` times its deviation.

    Args:
        weighted: Iterable of pairs `(weight, reward)`, a weight being a number
            or a `keras.Variable`, which a callback can change during training
            and restores, since no checkpoint holds it; see `Reward`.
        name: String. Defaults to `"weighted_sum"`.

    Attributes:
        terms: Tuple of the names of the terms, numbered where they repeat.
        differentiable: Boolean, whether all of the terms are.
        learning: Boolean, whether no term was built with `learning=False`.
        compares_samples: Boolean, whether any of the terms does.
        reads_log_probs: Boolean, whether any of the terms does.
        decoders: Tuple of those of all terms.
        abstains: Boolean, whether any of the terms may.
        judges: Boolean, whether any of the terms does.

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
        self._rewards = rewards = [reward for _, reward in self.weighted]
        self.terms = _distinct(reward.name for reward in rewards)
        self.differentiable = all(r.differentiable for r in rewards)
        self.learning = all(getattr(r, "learning", True) for r in rewards)
        self.compares_samples = any(r.compares_samples for r in rewards)
        self.reads_log_probs = any(r.reads_log_probs for r in rewards)
        self.decoders = sum((tuple(r.decoders) for r in rewards), ())
        self.abstains = any(r.abstains for r in rewards)
        self.judges = any(r.judges for r in rewards)

    def _pairs(self):
        return self.weighted

    def call(self, rollout, episode):
        return self.measure(rollout, episode)[0]

    def measure(self, rollout, episode):
        rewards, _, terms = self.measured(rollout, episode)
        return rewards, terms

    def measured(self, rollout, episode):
        return self._sums(self._asked("measured", rollout, episode))

    def credited(self, rollout, episode):
        return self._sums(self._asked("credited", rollout, episode))

    def _asked(self, method, rollout, episode):
        """Calls a method of all terms; those that wait do so together."""
        waiting = {id(r): r for r in self._rewards if getattr(r, "waits", 0)}
        known = {}
        if len(waiting) > 1:
            values = _together(waiting.values(), rollout, episode)
            known = {key: (x, x, {}) for key, x in zip(waiting, values)}
        for reward in self._rewards:
            if id(reward) in known:
                yield known[id(reward)]
            else:
                yield getattr(reward, method)(rollout, episode)

    def _sums(self, parts):
        """Sums of what is learned from and of what is logged; the latter."""
        learned, values, _ = zip(*parts)
        terms = dict(zip(self.terms, values))
        return self._total(learned), self._total(values), terms

    def _total(self, values):
        # Credit for every word of one term beside one number of another.
        rank = max(len(value.shape) for value in values)
        total, judged = 0.0, False
        for (weight, reward), value in zip(self.weighted, values):
            if len(value.shape) < rank:
                value = value[..., None]
            if reward.abstains:
                own = value != ABSTAINED
                value = ops.where(own, value, 0)
            else:
                own = True
            if reward.judges:
                judged = ops.logical_or(judged, own)
            total = total + ops.cast(weight, value.dtype) * value
        if not self.abstains:
            return total
        # What is infinite by itself does not abstain.
        total = ops.where(total == ABSTAINED, np.nan, total)
        return ops.where(judged, total, ABSTAINED)


def _together(rewards, rollout, episode):
    """Values of rewards on the host, of which each waits in its thread."""
    calls = [reward.host_call(rollout, episode) for reward in rewards]
    counts = [len(arrays) for _, arrays in calls]

    def score(*arrays):
        arrays = iter(arrays)
        with ThreadPoolExecutor(len(calls)) as pool:
            scores = [
                pool.submit(function, *itertools.islice(arrays, count))
                for (function, _), count in zip(calls, counts)
            ]
            return np.stack([score.result() for score in scores])

    every = tuple(array for _, arrays in calls for array in arrays)
    shape = len(calls), *rollout.tokens.shape[:2]
    values = call_on_host(score, every, shape)
    return [values[index] for index in range(len(calls))]


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
    distinct = []
    for name in names:
        numbered, count = name, 1
        while numbered in distinct:
            count += 1
            numbered = f"{name}_{count}"
        distinct.append(numbered)
    return tuple(distinct)


def check_credit(credit):
    """Refuses a name of no credit that a sample is given."""
    if credit not in CREDITS:
        raise ValueError(
            f"`credit` must be one of {CREDITS}. Received: credit={credit!r}."
        )
