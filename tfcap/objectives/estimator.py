"""Base class of the estimators."""

from keras import ops

from tfcap.objectives.objective import Objective
from tfcap.ops import mean_over_replicas
from tfcap.ops import num_replicas


class Estimator(Objective):
    """Turns one reward of one decoder's words into a loss.

    To write one, override `values()`. Only estimators negate.

    Args:
        name: String, under which the reward is logged.
    """

    def __init__(self, name):
        self.name = name

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
        replicas = num_replicas()
        logs = {
            key: ops.stop_gradient(
                mean_over_replicas(
                    ops.broadcast_to(value, ops.shape(losses)), mask
                )
            )
            * replicas
            for key, value in logged.items()
        }
        return mean_over_replicas(losses, mask), logs
