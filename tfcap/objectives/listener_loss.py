"""Training of a listener on words that are constants."""

from tfcap.objectives.estimator import Estimator
from tfcap.objectives.estimator import check_decoder
from tfcap.rewards import Reward


class ListenerLoss(Estimator):
    """Differentiates a reward by its network, and not by the words.

    ```
    loss = -reward(stop_gradient(words))
    ```

    What a listener learns from when the words are nobody's fault: human ones,
    those of a speaker that is frozen, or of one that has its turn later. Any
    decoder will do.

    Args:
        reward: `tfcap.rewards.Reward` that is differentiable, such as
            `tfcap.rewards.Retrieval`, and computed by who learns.
        decoder: `tfcap.decoding.Decoder`.
        name: String. Defaults to the reward's name.

    Raises:
        ValueError: If the reward, or a term of it, has no gradient or is
            built with `learning=False`.

    Example:

    >>> listener = tfcap.models.RetrievalListener(50, units=8)
    >>> objective = tfcap.objectives.ListenerLoss(
    ...     tfcap.rewards.Retrieval(listener), tfcap.decoding.GroundTruth()
    ... )
    >>> objective.name
    'retrieval'

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, section 6.2: "the speaker and listener were trained alternately"
    """

    def __init__(self, reward, decoder, name=None):
        if not isinstance(reward, Reward) or not reward.differentiable:
            raise ValueError(
                "`reward` must be differentiable for ListenerLoss. Received: "
                f"reward={type(reward).__name__}. What has no gradient cannot "
                "be trained by one."
            )
        if not getattr(reward, "learning", True):
            raise ValueError(
                "`reward` must train its network for ListenerLoss. Received: "
                f"reward={reward.name!r} with learning=False. Give it, or its "
                "terms, `learning=True`."
            )
        check_decoder(decoder)
        super().__init__(name or reward.name, reward.terms, (decoder,))
        self.reward = reward
        self.decoder = decoder

    def rollout(self, episode):
        return self.judged(episode)

    def per_sample_loss(self, episode):
        _, rewards, _, parts = self.rewarded(episode)
        return -rewards, rewards, parts
