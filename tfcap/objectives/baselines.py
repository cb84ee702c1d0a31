"""Baselines that are computed of rewards."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import masked_mean
from tfcap._ops import mean_over_replicas
from tfcap._ops import sum_over_replicas
from tfcap._ops.arguments import checked_number
from tfcap.objectives.baseline import Baseline
from tfcap.objectives.estimator import check_decoder
from tfcap.objectives.estimator import judged
from tfcap.rewards.text_rewards import as_reward


class DecoderBaseline(Baseline):
    """The reward of another decoder's words.

    With `Greedy`, self-critical training, SCST; with `GroundTruth`, the reward
    of the human words. It does not depend on what is sampled, and leaves the
    expected gradient as it is.

    Where a reward compares samples it is their credit, the effect on the
    other words of that decoder included; see `tfcap.rewards.Reward`. As every
    sample has an effect on all S samples of another row, that effect is
    scaled to as many samples as are scored.

    Args:
        reward: `tfcap.rewards.Reward`, or a function as `ScoreFunction` takes
            one.
        decoder: `tfcap.decoding.Decoder`.

    Example:

    >>> reward, greedy = tfcap.rewards.ConstantReward(), tfcap.decoding.Greedy()
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     reward,
    ...     tfcap.decoding.Sample(),
    ...     baseline=tfcap.objectives.DecoderBaseline(reward, greedy),
    ... )

    Reference:

    - Rennie et al., Self-critical Sequence Training, CVPR 2017
    """

    def __init__(self, reward, decoder):
        reward = as_reward(reward)
        check_decoder(decoder)
        self.reward = reward
        self.decoder = decoder
        self.decoders = (decoder, *reward.decoders)

    def __call__(self, rewards, episode):
        rollout = episode.rollout(self.decoder).stop_gradient()
        found = self.reward.scored(rollout, episode)
        rollout, values, own = judged(
            self.reward, rollout, found.credit(), found.logged
        )
        said = rollout.nonempty
        if self.reward.compares_samples:
            ratio = _count(present_samples(rewards, episode)) / _count(said)
            values = own + (values - own) * ops.cast(ratio, values.dtype)
        values = _row_mean(ops.stop_gradient(values), rollout)
        values = ops.expand_dims(values, 1)
        if not self.reward.abstains:
            return values
        # Without a word to compare with, a sample counts for nothing.
        known = ops.any(said, axis=1, keepdims=True)
        if len(values.shape) < len(rewards.shape):
            values = values[..., None]
        if len(values.shape) == 3:
            known = known[..., None]
        return ops.where(known, values, rewards)


def _row_mean(values, rollout):
    """Mean over a row's sequences, by their weights: `(B,)` or `(B, T)`."""
    said, weights = rollout.nonempty, rollout.weights
    if len(values.shape) == 3:
        said = said[..., None]
        weights = None if weights is None else weights[..., None]
    mean = masked_mean(
        values if weights is None else values * weights, said, axis=1
    )
    if weights is None:
        return mean
    share = masked_mean(weights, said, axis=1)
    return mean / ops.where(share > 0, share, 1.0)


def _count(present):
    """Number of sequences scored in the batch, of all replicas."""
    count = sum_over_replicas(ops.sum(ops.cast(present, "float32")))
    return ops.maximum(count, 1)


class LeaveOneOutBaseline(Baseline):
    """The mean reward of a row's other samples: RLOO.

    It leaves the expected gradient as it is where the reward of the others
    does not depend on the sample, and so not of a reward that compares the
    samples of one row with each other, nor of one whose hardest negative
    another sample of the row may be.

    Of references, those that are present. One that is alone in its row has
    none to be compared with: its baseline is its own reward, and it counts
    for nothing.

    Example:

    >>> baseline = tfcap.objectives.LeaveOneOutBaseline()
    >>> print(baseline(np.array([[1.0, 2.0, 6.0]]), None).numpy())
    [[4.  3.5 1.5]]

    Reference:

    - Kool et al., Buy 4 REINFORCE Samples, Get a Baseline for Free!, 2019
    """

    def __call__(self, rewards, episode):
        check_several(rewards, "LeaveOneOutBaseline")
        present = present_samples(rewards, episode)
        # From the first one on: of equal numbers, the mean is that number.
        first, above = from_first(rewards, present)
        total = ops.sum(above, axis=1, keepdims=True)
        count = ops.sum(ops.cast(present, above.dtype), axis=1, keepdims=True)
        return first + (total - above) / ops.maximum(count - 1, 1)


class SampleMeanBaseline(Baseline):
    """The mean reward of a row's samples, its own included: GRPO's.

    With `tfcap.rewards.PairwiseDiversity`, the mean distance of all pairs.
    Samples that are all alike have an advantage of exactly 0.

    A sample that counts in its own baseline makes the expected gradient
    smaller, and turns it nowhere else: it is `(S - 1) / S` of that without a
    baseline, and `(S - 2) / S` where a reward is the mean over the other
    samples of something symmetric, as `PairwiseDiversity` is, since both
    samples of a pair count. With `LeaveOneOutBaseline` it is the whole, and
    `(S - 2) / (S - 1)`.

    Example:

    >>> baseline = tfcap.objectives.SampleMeanBaseline()
    >>> print(baseline(np.array([[1.0, 2.0, 6.0]]), None).numpy())
    [[3.]]

    Reference:

    - Chen and Jin, Better Captioning with Sequence-Level Exploration, CVPR
      2020, equation 16
    """

    def __call__(self, rewards, episode):
        check_several(rewards, "SampleMeanBaseline")
        # From the first one on: of equal numbers, the mean is that number.
        present = present_samples(rewards, episode)
        first, above = from_first(rewards, present)
        return first + ops.expand_dims(masked_mean(above, present, axis=1), 1)


class RunningMeanBaseline(Baseline):
    """An exponential mean of the rewards of earlier steps.

    ```
    mean = momentum * mean + (1 - momentum) * mean(rewards)
    ```

    without the bias towards 0 of the first steps. It is part of a checkpoint.
    A step whose mean reward is not finite leaves it as it was.

    Args:
        momentum: Float in `(0, 1)`. Defaults to `0.99`.

    Example:

    >>> from types import SimpleNamespace as Namespace
    >>> baseline = tfcap.objectives.RunningMeanBaseline(momentum=0.5)
    >>> step = Namespace(training=True, present=np.ones(2, "float32"))
    >>> rewards = np.array([[1.0], [3.0]])
    >>> for _ in range(3):
    ...     print(float(baseline(rewards, step)[0, 0]))
    0.0
    2.0
    2.0

    Reference:

    - Williams, Simple Statistical Gradient-Following Algorithms for
      Connectionist Reinforcement Learning, 1992, section 4
    """

    def __init__(self, momentum=0.99):
        momentum = checked_number(
            momentum, "momentum", "in (0, 1)", lambda x: 0 < x < 1
        )
        self.mean = _Mean(momentum)

    @property
    def layers(self):
        return (self.mean,)

    def __call__(self, rewards, episode):
        rewards, rank = ops.cast(rewards, "float32"), len(rewards.shape)
        value = self.mean.value()
        if episode.training:
            share = mean_over_replicas(*_counted(rewards, episode))
            self.mean.update(ops.stop_gradient(sum_over_replicas(share)))
        return ops.reshape(value, (1,) * rank)


def _counted(rewards, episode):
    """Rewards, and a mask of the words, sequences or rows that are present."""
    rollout, rank = getattr(episode, "scored", None), len(rewards.shape)
    if rollout is None:
        present = ops.reshape(episode.present, (-1, *[1] * (rank - 1)))
    elif rollout.weights is not None:
        if rank == 3:
            rewards = masked_mean(rewards, rollout.mask, axis=-1)
        rewards = _row_mean(rewards, rollout)
        present = ops.cast(ops.any(rollout.nonempty, axis=1), "float32")
    elif rank == 3:
        present = rollout.mask
    else:
        present = ops.cast(rollout.nonempty, "float32")
    return rewards, ops.broadcast_to(present, ops.shape(rewards))


class _Mean(keras.layers.Layer):
    """An exponential mean, and the weight that it still lacks."""

    def __init__(self, momentum, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.total = self._scalar("total", "zeros")
        self.missing = self._scalar("missing", "ones")
        self.built = True

    def _scalar(self, name, initializer):
        return self.add_weight(
            shape=(),
            initializer=initializer,
            dtype="float32",
            trainable=False,
            aggregation="mean",
            name=name,
        )

    def value(self):
        # Without the bias of an exponential mean that starts from 0.
        known = 1.0 - self.missing
        return ops.where(known > 0, self.total / ops.maximum(known, 1e-12), 0.0)

    def update(self, value):
        # What is not finite would stay in the mean for good.
        finite = ops.isfinite(value)
        total = self.momentum * self.total + (1.0 - self.momentum) * value
        missing = self.momentum * self.missing
        self.total.assign(ops.where(finite, total, self.total))
        self.missing.assign(ops.where(finite, missing, self.missing))


def check_several(rewards: Any, name: str) -> None:
    """Refuses rewards of one sample a row.

    Args:
        rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.

    Raises:
        ValueError: If there is one sample a row.
    """
    if rewards.shape[1] is not None and rewards.shape[1] < 2:
        raise ValueError(
            f"{name} needs at least 2 samples of each row. Received: rewards "
            f"of shape {tuple(rewards.shape)}. Set `num_samples` of the "
            "decoder."
        )


def check_of_sequences(rewards: Any, name: str) -> None:
    """Refuses rewards of words.

    Raises:
        ValueError: If they are not of shape `(B, S)`.
    """
    if len(rewards.shape) != 2:
        raise ValueError(
            f"`reward` must give one number a sequence for {name}. Received: "
            f"rewards of shape {tuple(rewards.shape)}. Leave out the part that "
            "gives one for each word."
        )


def present_samples(rewards: Any, episode: Any) -> Any:
    """Masks the samples that a baseline compares.

    Args:
        rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.

    Returns:
        Boolean tensor of shape `(B, S)` or `(B, S, 1)`.
    """
    rollout = getattr(episode, "scored", None)
    if rollout is None:
        said = ops.ones(ops.shape(rewards)[:2], dtype="bool")
    else:
        if getattr(rollout, "weights", None) is not None:
            raise ValueError(
                "`decoder` must not weigh its sequences for a baseline of "
                "their mean. Received: a rollout with weights. Use "
                "ExpectedRewardBaseline."
            )
        said = rollout.nonempty
    return said if len(rewards.shape) == 2 else said[..., None]


def from_first(rewards: Any, present: Any) -> tuple[Any, Any]:
    """Subtracts from rewards the first one of their row.

    Of equal numbers, means of such differences are exactly 0.

    Args:
        rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.
        present: Boolean tensor of shape `(B, S)` or `(B, S, 1)`.

    Returns:
        The first reward of a row that is present, `(B, 1)` or `(B, 1, T)`, and
        the differences, of the shape of `rewards`, 0 where absent.
    """
    rewards = ops.where(present, rewards, 0)
    index = ops.argmax(ops.cast(present, "int32"), axis=1, keepdims=True)
    index = ops.broadcast_to(index, ops.shape(rewards[:, :1]))
    first = ops.take_along_axis(rewards, index, axis=1)
    return first, ops.where(present, rewards - first, 0)
