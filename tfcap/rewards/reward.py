"""Base class of the rewards."""


class Reward:
    """Scores what was said. Rewards go up.

    To write one, override `call()`; say in `differentiable` whether gradients
    reach the words through it, and in `name` what it is logged as.

    Attributes:
        differentiable: Boolean.
        name: String.
    """

    differentiable = False
    name = "reward"

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

    def __call__(self, rollout, episode):
        return self.call(rollout, episode)
