"""Base class of the estimators."""

import keras
from keras import ops

from tfcap.objectives.objective import Objective
from tfcap.ops import mean_over_replicas
from tfcap.ops import num_replicas
from tfcap.ops import sum_over_replicas


def _total(values, mask):
    """This replica's share of the global sum: the sum of its own rows."""
    dtype = keras.backend.standardize_dtype(values.dtype)
    # Half precision cannot hold a long sum.
    values = ops.cast(values, keras.backend.result_type(dtype, "float32"))
    return ops.sum(ops.where(ops.cast(mask, "bool"), values, 0))


#: How the losses of a batch become one.
REDUCTIONS = {"mean": mean_over_replicas, "sum": _total}


class Estimator(Objective):
    """Turns one reward of one decoder's words into a loss.

    To write one, override `values()`. Only estimators negate.

    Args:
        name: String, under which the reward is logged.
        parts_of_reward: Tuple of strings, the keys of those of the values to
            log whose standard deviation is logged as well, under `"_std"`.
        reduction: `"mean"` over the sequences of the global batch, or their
            `"sum"`, for weights that a paper gives for sums over a batch.
            Means are logged in either case. Defaults to `"mean"`.
    """

    def __init__(self, name, parts_of_reward=(), reduction="mean"):
        if reduction not in REDUCTIONS:
            raise ValueError(
                f"`reduction` must be one of {tuple(REDUCTIONS)}. Received: "
                f"reduction={reduction!r}."
            )
        self.name = name
        self.parts_of_reward = tuple(parts_of_reward)
        self.reduction = reduction

    def log_keys(self):
        """Keys under which `term()` logs the reward and its parts."""
        names = [(key, f"{key}_std") for key in self.parts_of_reward]
        return ("", *(name for pair in names for name in pair))

    def deviating(self):
        """Keys of the values whose standard deviation is logged as well."""
        return self.parts_of_reward

    def parts(self):
        """The Keras layers held: word channels, learned baselines."""
        return ()

    def values(self, episode):
        """Loss of every row, and the reward to log.

        Args:
            episode: `tfcap.objectives.Episode`.

        Returns:
            Float tensor of shape `(B, S)`, and a dict of float tensors of
            shape `(B, S)`, or of a shape that `mask()` knows, to log their
            means; the empty key logs under the estimator's own name.
        """
        raise NotImplementedError

    def sequences(self, episode):
        """The rollout that the values are of, or `None`, values of rows."""
        return None

    def counted(self, rollout):
        """The words that count: `(B, S, T)`."""
        return rollout.mask

    def mask(self, values, episode):
        """Mask of values: those of sequences and rows that are present.

        Args:
            values: Float tensor of shape `(B, S)`, `(B, S, T)`, or `(B, 1)`
                of rows.
            episode: `tfcap.objectives.Episode`.

        Returns:
            Float tensor of the shape of `values`.
        """
        rollout, rank = self.sequences(episode), len(values.shape)
        if rollout is None:
            present = ops.reshape(episode.present, (-1, *[1] * (rank - 1)))
        elif rank == 3:
            present = self.counted(rollout)
        else:
            present = ops.cast(rollout.nonempty, "float32")
            if values.shape[1] == 1:
                present = ops.max(present, axis=1, keepdims=True)
        return ops.broadcast_to(present, ops.shape(values))

    def term(self, episode):
        """This replica's share of the reduced loss, and means to log."""
        losses, logged = self.values(episode)
        logs = {}
        for key, value in logged.items():
            value = ops.stop_gradient(value)
            if len(value.shape) == 2:
                shape = (ops.shape(losses)[0], ops.shape(value)[1])
                value = ops.broadcast_to(value, shape)
            mask = self.mask(value, episode)
            share = mean_over_replicas(value, mask)
            logs[key] = share * num_replicas()
            if key in self.deviating():
                name = f"{key}_std" if key else "std"
                logs[name] = _deviation(value, share, mask)
        reduce = REDUCTIONS[self.reduction]
        return reduce(losses, self.mask(losses, episode)), logs


def _deviation(values, share, mask):
    """Standard deviation over the global batch, from this replica's share."""
    mean = sum_over_replicas(share)
    squares = ops.square(ops.cast(values, mean.dtype) - mean)
    return ops.sqrt(sum_over_replicas(mean_over_replicas(squares, mask)))
