"""The mean reward of the past as a baseline."""

import keras
from keras import ops

from tfcap.ops import mean_over_replicas
from tfcap.ops import sum_over_replicas
from tfcap.ops.arguments import checked_number


class RunningMeanBaseline:
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
        """The layer that holds the mean."""
        return (self.mean,)

    def __call__(self, rewards, episode):
        rewards = ops.cast(rewards, "float32")
        value = self.mean.value()
        if episode.training:
            present = ops.broadcast_to(
                _present(rewards, episode), ops.shape(rewards)
            )
            share = mean_over_replicas(rewards, present)
            self.mean.update(ops.stop_gradient(sum_over_replicas(share)))
        return ops.reshape(value, (1,) * len(rewards.shape))


def _present(rewards, episode):
    """Mask of rewards: the words, sequences or rows that are present."""
    rollout, rank = getattr(episode, "scored", None), len(rewards.shape)
    if rollout is None:
        return ops.reshape(episode.present, (-1, *[1] * (rank - 1)))
    return rollout.mask if rank == 3 else ops.cast(rollout.nonempty, "float32")


class _Mean(keras.layers.Layer):
    """An exponential mean, and what of it is not yet there."""

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
        there = 1.0 - self.missing
        return ops.where(there > 0, self.total / ops.maximum(there, 1e-12), 0.0)

    def update(self, value):
        # What is not finite would stay in the mean for good.
        finite = ops.isfinite(value)
        total = self.momentum * self.total + (1.0 - self.momentum) * value
        missing = self.momentum * self.missing
        self.total.assign(ops.where(finite, total, self.total))
        self.missing.assign(ops.where(finite, missing, self.missing))
