"""Base class of the estimators."""

from keras import ops

from tfcap.objectives.objective import Objective
from tfcap.ops import mean_over_replicas
from tfcap.ops import num_replicas
from tfcap.ops import sum_over_replicas


class Estimator(Objective):
    """Turns one reward of one decoder's words into a loss.

    To write one, override `values()`. Only estimators negate.

    Args:
        name: String, under which the reward is logged.
        parts_of_reward: Tuple of strings, the keys of those of the values to
            log whose standard deviation is logged as well, under `"_std"`.
    """

    def __init__(self, name, parts_of_reward=()):
        self.name = name
        self.parts_of_reward = tuple(parts_of_reward)

    def log_keys(self):
        """Keys under which `term()` logs the reward and its parts."""
        names = [(key, f"{key}_std") for key in self.parts_of_reward]
        return ("", *(name for pair in names for name in pair))

    def parts(self):
        """The Keras layers held: word channels, learned baselines."""
        return ()

    def values(self, episode):
        """Loss of every row, and the reward to log.

        Args:
            episode: `tfcap.objectives.Episode`.

        Returns:
            Float tensor of shape `(B, S)`, and a dict of float tensors of
            shape `(B, S)` to log their means; the empty key logs under the
            estimator's own name.
        """
        raise NotImplementedError

    def term(self, episode):
        """This replica's share of the mean loss, and means to log."""
        losses, logged = self.values(episode)
        mask = ops.broadcast_to(episode.present[:, None], ops.shape(losses))
        logs = {}
        for key, value in logged.items():
            value = ops.stop_gradient(
                ops.broadcast_to(value, ops.shape(losses))
            )
            share = mean_over_replicas(value, mask)
            logs[key] = share * num_replicas()
            if key in self.parts_of_reward:
                logs[f"{key}_std"] = _deviation(value, share, mask)
        return mean_over_replicas(losses, mask), logs


def _deviation(values, share, mask):
    """Standard deviation over the global batch, from this replica's share."""
    mean = sum_over_replicas(share)
    squares = ops.square(ops.cast(values, mean.dtype) - mean)
    return ops.sqrt(sum_over_replicas(mean_over_replicas(squares, mask)))
