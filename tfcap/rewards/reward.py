"""Rewards, their sums, and simple rewards."""

import itertools
from collections.abc import Callable
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from tfcap._ops import call_on_host
from tfcap._ops import is_end
from tfcap._ops import masked_mean
from tfcap._ops.arguments import checked_integer
from tfcap._ops.sequences import with_known_sizes
from tfcap._printed import brief
from tfcap._printed import printed

#: What a reward that abstains from a sample gives it.
ABSTAINED = -np.inf
#: Rewards that differ by less are equal but for float error.
EQUAL = 1e-5


class Linear:
    """Adds, subtracts and scales rewards, and objectives.

    ```
    sum_i weight_i * part_i
    ```

    A weight is a number or a `keras.Variable`. A variable must be on the
    right, `part * weight`, since Keras itself evaluates `weight * part`. A
    subclass overrides `_sum()`.
    """

    def __repr__(self):
        pairs = self._pairs()
        if pairs[0][1] is self:
            return printed(self)
        weighted = (f"{brief(own)} * {part!r}" for own, part in pairs)
        return " + ".join(text.removeprefix("1 * ") for text in weighted)

    def _pairs(self):
        """Returns the weights and parts of the sum."""
        return ((1.0, self),)

    def _sum(self, pairs):
        """Returns the sum of pairs of weights and parts."""
        raise NotImplementedError

    def _scaled(self, weight):
        """Returns the product with a `keras.Variable`."""
        return self._sum([(weight, self)])

    def __add__(self, other):
        if not isinstance(other, Linear):
            return NotImplemented
        return self._sum([*self._pairs(), *other._pairs()])

    def __radd__(self, other):
        # `sum()` starts from 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other):
        return self + -1.0 * other

    def __neg__(self):
        return -1.0 * self

    def __mul__(self, weight):
        if isinstance(weight, Linear):
            return NotImplemented
        if isinstance(weight, keras.Variable):
            return self._scaled(weight)
        if any(isinstance(own, keras.Variable) for own, _ in self._pairs()):
            return self._sum([(weight, self)])
        return self._sum([(own * weight, part) for own, part in self._pairs()])

    __rmul__ = __mul__


class Scored(NamedTuple):
    """The rewards of a rollout.

    Attributes:
        values: Float tensor of shape `(B, S)`, or `(B, S, T)` with credit for
            every word, to learn from.
        terms: Dict of such tensors by the names of `Reward.terms`, whose mean
            and standard deviation are logged. Defaults to none.
        logged: The reward to log, if `values` are scaled. Defaults to
            `values`.
        credit: Function without arguments that returns the weights of each
            sample's words in `ScoreFunction`, for a reward that compares
            samples: the score function of the expected mean reward weighs
            them by the rewards of *all* samples that depend on the sample,

            ```
            credit[b, s] = reward[b, s] + sum over other samples (c, k) of
                           reward[c, k] - reward[c, k] without the sample (b, s)
            ```

            Its own reward alone would be a biased estimate. Defaults to
            `values`, for a reward that does not compare samples.
    """

    values: Any
    terms: dict | None = None
    logged: Any = None
    credit: Callable | None = None


class Reward(Linear):
    """Scores generated captions; higher is better.

    To write one, override `call()`; set `differentiable` if gradients reach
    the words through it, and `name` for the logs.

    Rewards are added and scaled as in the papers,

    ```
    reward = CIDErD(document_frequencies) + 0.5 * BLEU(4)
    ```

    which makes a `WeightedSum`. A weight may be a `keras.Variable` on the
    right, `BLEU(4) * weight`, which a callback can change during training.
    Checkpoints do not hold such a variable: in a resumed run, the callback
    that changes it restores it, by its `get_state()` and `set_state(state)`
    (`tfcap.training.Resume`).

    Attributes:
        differentiable: Boolean.
        name: String.
        terms: Tuple of strings, names of the parts that are logged beside the
            reward itself.
        compares_samples: Boolean, whether the reward of a sample depends on
            the other samples. The `credit` of `Scored` is then a sample's
            effect on all of them.
        reads_log_probs: Boolean, whether it reads log probabilities under the
            speaker. `MonteCarlo` does not take such rewards.
        decoders: Tuple of other decoders whose words it reads.
        abstains: Boolean, whether it may abstain from a sample by a reward of
            minus infinity: the sample has no gradient, and is left out of
            baselines, deviations and logs as if it had not been drawn.
            Defaults to `False`: a reward that is not finite is an error.
        judges: Boolean, whether it judges a caption by itself. False for
            penalties that are added to a reward: if all others abstain, they
            do not count. Defaults to `True`.
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
        """Scores a rollout; a subclass overrides it.

        Args:
            rollout: `tfcap.decoding.Rollout`.
            episode: `tfcap.objectives.Episode`, which holds the batch, the
                references and the other rollouts of this step.

        Returns:
            Float tensor of shape `(B, S)`, or `(B, S, T)` with credit for
            every word; or a `Scored`.
        """
        raise NotImplementedError

    def scored(self, rollout, episode):
        """Scores a rollout for an estimator.

        Args:
            rollout: `tfcap.decoding.Rollout`.
            episode: `tfcap.objectives.Episode`.

        Returns:
            `Scored`, with all of its attributes.
        """
        found = self.call(rollout, episode)
        if not isinstance(found, Scored):
            found = Scored(found)
        values = with_known_sizes(found.values, rollout.mask)
        return Scored(
            values,
            found.terms or {},
            values if found.logged is None else found.logged,
            found.credit or (lambda: values),
        )

    def __call__(self, rollout, episode):
        return self.scored(rollout, episode).values

    def __add__(self, other):
        if callable(other) and not isinstance(other, Reward):
            raise TypeError(
                "Only a reward can be added to a reward. Received: "
                f"{other!r}. Wrap a function of strings in "
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

    over those that do not abstain. It abstains if all that judge do.

    The logged mean and standard deviation of a term are unweighted: its
    influence is `weight_i` times its deviation.

    Args:
        weighted: Iterable of pairs `(weight, reward)`. A weight is a number
            or a `keras.Variable`, which a callback can change, and must
            restore; see `Reward`.
        name: String. Defaults to `"weighted_sum"`.

    Attributes:
        terms: Tuple of the names of the terms, numbered if they repeat.
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
        self.weighted = tuple(weighted)
        self.name = name
        self._rewards = rewards = [reward for _, reward in self.weighted]
        self.terms = distinct(reward.name for reward in rewards)
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
        parts = self._scored(rollout, episode)
        logged = [part.logged for part in parts]
        return Scored(
            self._total([part.values for part in parts]),
            dict(zip(self.terms, logged)),
            self._total(logged),
            (lambda: self._total([part.credit() for part in parts]))
            if self.compares_samples
            else None,
        )

    def _scored(self, rollout, episode):
        """Scores by all terms, asynchronous ones concurrently."""
        waiting = {id(r): r for r in self._rewards if getattr(r, "waits", 0)}
        known = {}
        if len(waiting) > 1:
            values = _together(waiting.values(), rollout, episode)
            known = {
                key: Scored(x, {}, x, lambda x=x: x)
                for key, x in zip(waiting, values)
            }
        return [
            known.get(id(reward)) or reward.scored(rollout, episode)
            for reward in self._rewards
        ]

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
    """Computes rewards on the host, each in its own thread."""
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


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Numbers repeated names."""
    found = []
    for name in names:
        numbered, count = name, 1
        while numbered in found:
            count += 1
            numbered = f"{name}_{count}"
        found.append(numbered)
    return tuple(found)


class Standardized(Reward):
    """Standardizes a reward over an image's samples.

    Decoupled normalization: each of several rewards is scaled before they are
    added, so that none dominates by its spread, and different combinations of
    rewards keep different advantages:

    ```
    reward = Standardized(CIDErD(frequencies)) + 0.5 * Standardized(BLEU(4))
    term = ScoreFunction(reward, samples, standardize="batch")
    ```

    is GDPO, an advantage that needs no baseline. Rows whose samples have equal
    rewards get 0. The logged reward is not standardized.

    Args:
        reward: `tfcap.rewards.Reward` with one number for a sequence.

    Example:

    >>> reward = tfcap.rewards.Standardized(tfcap.rewards.BLEU(4))
    >>> reward.name, (reward + reward).terms
    ('bleu_4', ('bleu_4', 'bleu_4_2'))

    Reference:

    - Liu et al., GDPO: Group reward-Decoupled Normalization Policy
      Optimization for Multi-reward RL Optimization, 2026
    """

    compares_samples = True

    def __init__(self, reward: Reward):
        if not isinstance(reward, Reward):
            raise TypeError(
                "`reward` must be a `tfcap.rewards.Reward`. Received: "
                f"reward={reward!r}. Wrap a function of strings in "
                "`tfcap.rewards.TextReward(function)`."
            )
        self.reward = reward
        self.name = reward.name
        self.terms = reward.terms
        self.decoders = reward.decoders
        self.abstains = reward.abstains
        self.judges = reward.judges
        self.reads_log_probs = reward.reads_log_probs

    def call(self, rollout, episode):
        own = self.reward.scored(rollout, episode)
        rewards = own.credit()
        check_of_sequences(rewards, "Standardized")
        check_several(rewards, "Standardized")
        present = rollout.nonempty
        if self.abstains:
            judged = rewards != ABSTAINED
            present = ops.logical_and(present, judged)
            rewards = ops.where(judged, rewards, 0)
        mean, std = deviation(rewards, present)
        scaled = divided(rewards - mean, std)
        scaled = ops.where(present, scaled, 0)
        if self.abstains:
            scaled = ops.where(judged, scaled, ABSTAINED)
        return Scored(scaled, own.terms, own.logged)


class ConstantReward(Reward):
    """Gives every caption the same reward.

    The score-function estimator of a constant reward on ground truth is
    teacher forcing.

    Args:
        value: Float. Defaults to `1.0`.

    Example:

    >>> ones = np.ones((2, 1, 3))
    >>> rollout = tfcap.decoding.Rollout(tokens=ones, mask=ones)
    >>> print(tfcap.rewards.ConstantReward(2.0)(rollout, None).numpy())
    [[2.]
     [2.]]
    """

    name = "constant"

    def __init__(self, value=1.0):
        self.value = value

    def call(self, rollout, episode):
        return ops.ones_like(rollout.mask[..., 0]) * self.value


class LengthPenalty(Reward):
    """A penalty on captions that are too long, from 0 to -1.

    ```
    reward = 0                                  # length <= T - buffer
    reward = (T - buffer - length) / buffer     # longer
    reward = -1                                 # no end token
    ```

    with the end token counted in the length.

    Args:
        buffer: Integer, number of words before the maximum length over which
            the reward falls.
        max_length: Integer `T`, as in the decoder.
        name: String. Defaults to `"overlong"`.

    Example:

    >>> reward = tfcap.rewards.BLEU(4) + tfcap.rewards.LengthPenalty(4, 16)
    >>> reward.terms
    ('bleu_4', 'overlong')

    Reference:

    - Yu et al., DAPO, 2025, equation 13, "soft overlong punishment"
    """

    judges = False

    def __init__(self, buffer: int, max_length: int, name: str = "overlong"):
        self.max_length = checked_integer(max_length, "max_length")
        wanted = "an integer from 1 to `max_length`"
        self.buffer = checked_integer(buffer, "buffer", wanted)
        if self.buffer > self.max_length:
            raise ValueError(
                f"`buffer` must be {wanted}. Received: buffer={buffer} with "
                f"max_length={max_length}."
            )
        self.name = name

    def call(self, rollout: Any, episode: Any) -> Any:
        length = ops.sum(ops.cast(rollout.mask, "float32"), axis=-1)
        short = self.max_length - self.buffer
        falling = ops.minimum((short - length) / self.buffer, 0.0)
        ends = finished(rollout, episode.speaker.eos) > 0
        ended = ops.logical_or(ends, ops.logical_not(rollout.nonempty))
        return ops.where(ended, ops.maximum(falling, -1.0), -1.0)


def check_vocabulary(network, episode, argument: str):
    """Rejects a network with another vocabulary.

    Raises:
        ValueError: If the sizes differ.
    """
    known = getattr(network, "vocabulary_size", None)
    size = getattr(episode.speaker, "vocabulary_size", None)
    if None not in (known, size) and known != size:
        raise ValueError(
            f"`{argument}` must have the speaker's vocabulary. Received: "
            f"{argument}.vocabulary_size={known} for a speaker with "
            f"vocabulary_size={size}. Train both with the same "
            "`tfcap.text.Vocabulary`."
        )


def check_methods(value: Any, argument: str, *methods: str) -> None:
    """Rejects an object without some methods."""
    for method in methods:
        if not hasattr(value, method):
            raise TypeError(
                f"`{argument}` must have the method `{method}()`. Received: "
                f"{argument}={value!r}."
            )


def check_several(rewards: Any, name: str) -> None:
    """Rejects tensors of shape `(B, S, ...)` with one sample a row."""
    if rewards.shape[1] is not None and rewards.shape[1] < 2:
        raise ValueError(
            f"{name} needs at least 2 samples of each row. Received: rewards "
            f"of shape {tuple(rewards.shape)}. Set `num_samples` of the "
            "decoder."
        )


def check_of_sequences(rewards: Any, name: str) -> None:
    """Rejects rewards of words: shapes other than `(B, S)`."""
    if len(rewards.shape) != 2:
        raise ValueError(
            f"`reward` must have one number for each sequence for {name}. "
            f"Received: rewards of shape {tuple(rewards.shape)}. Leave out the "
            "term that rewards each word."
        )


def by_word(values: Any) -> Any:
    """Returns values of sequences `(B, S)` as those of words: `(B, S, 1)`."""
    return values[..., None] if len(values.shape) == 2 else values


def with_axes_of(said: Any, values: Any) -> Any:
    """Returns a tensor `(B, S)` of sequences with the axes of values."""
    return said if len(values.shape) == 2 else said[..., None]


def deviation(rewards: Any, present: Any) -> tuple[Any, Any]:
    """Returns the mean and standard deviation of each row's samples."""
    mean = ops.expand_dims(masked_mean(rewards, present, axis=1), 1)
    squares = masked_mean(ops.square(rewards - mean), present, axis=1)
    return mean, ops.sqrt(ops.expand_dims(squares, 1))


def divided(values: Any, std: Any) -> Any:
    """Divides values by their deviation; 0 where that is only float error."""
    return ops.where(std > EQUAL, values / ops.maximum(std, EQUAL), 0)


def finished(rollout: Any, eos: int | tuple[int, ...]) -> Any:
    """Marks sequences with an end, in a float tensor of shape `(B, S)`."""
    # By the words, since references that are cut may be padded further.
    ends = is_end(rollout.tokens, eos) & (rollout.mask > 0)
    return ops.cast(ops.any(ends, axis=-1), "float32")
