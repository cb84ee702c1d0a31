"""A loss of a network's own, beside the estimators."""

from tfcap.objectives.estimator import Estimator


class SupervisedLoss(Estimator):
    """A loss that a function computes from an episode.

    The second learner of a game is often trained by an ordinary loss: on
    labels, or on what the speaker said.

    Args:
        function: Callable from an `Episode` to losses of shape `(B, S)`.
        name: String.
        decoders: Tuple of `tfcap.decoding.Decoder`, those that `function` asks
            the episode for.

    Example:

    >>> term = tfcap.objectives.SupervisedLoss(lambda episode: None, "n_pair")
    >>> term.name
    'n_pair'
    """

    def __init__(self, function, name, decoders=()):
        super().__init__(name, decoders=decoders)
        self.function = function

    def per_sample_loss(self, episode):
        losses = self.function(episode)
        return losses, losses, {}
