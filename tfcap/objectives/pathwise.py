"""Gradients that pass through the words."""

from tfcap.decoding import Decoder
from tfcap.objectives.estimator import Estimator
from tfcap.rewards import as_reward


class Pathwise(Estimator):
    """Differentiates a reward through the words that were said.

    ```
    loss = -reward(words)
    ```

    The gradient reaches the speaker through the word channel: exactly, where
    it passes whole distributions, and by its straight-through estimate, where
    it passes words.

    The decision to stop has no gradient in this, but through the vector of
    the end token; with `ExpectedEnding` it has.

    Args:
        reward: `tfcap.rewards.Reward` that is differentiable.
        decoder: `tfcap.decoding.Decoder` whose words carry gradients.
        name: String. Defaults to the reward's name.
        reduction: As that of `Estimator`.

    Raises:
        ValueError: If no gradient could pass.

    Example:

    >>> tfcap.objectives.Pathwise(
    ...     tfcap.rewards.ConstantReward(), tfcap.decoding.GroundTruth()
    ... )
    Traceback (most recent call last):
    ValueError: `reward` must be differentiable for Pathwise. Received: \
reward=ConstantReward. Use ScoreFunction, which needs the reward's values only.

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.3
    """

    def __init__(self, reward, decoder, name=None, reduction="mean"):
        reward = as_reward(reward)
        if not reward.differentiable:
            raise ValueError(
                "`reward` must be differentiable for Pathwise. Received: "
                f"reward={type(reward).__name__}. Use ScoreFunction, which "
                "needs the reward's values only."
            )
        if not isinstance(decoder, Decoder) or not decoder.pathwise:
            raise ValueError(
                "`decoder` must emit words that carry gradients for Pathwise. "
                f"Received: decoder={type(decoder).__name__}. Use Sample with "
                "a straight-through channel such as GumbelSoftmaxST, or "
                "ScoreFunction."
            )
        super().__init__(
            name or reward.name, reward.terms, (decoder,), (), reduction
        )
        self.reward = reward
        self.decoder = decoder

    def rollout(self, episode):
        return self.judged(episode)

    def per_sample_loss(self, episode):
        _, rewards, parts = self.rewarded(
            episode, self.reward.measure, gradient=True
        )
        return -rewards, rewards, parts
