"""Gradients that pass through the words."""

from keras import ops

from tfcap.decoding import Decoder
from tfcap.decoding.termination import every_ending
from tfcap.objectives.estimator import Estimator
from tfcap.rewards.text_rewards import as_reward


class Pathwise(Estimator):
    """Differentiates a reward through the words that were said.

    ```
    loss = -reward(words)
    ```

    The gradient reaches the speaker through the word channel: exactly, where
    it passes whole distributions, and by its straight-through estimate, where
    it passes words.

    The decision to stop has no gradient in this, but through the vector of
    the end token. With `Sample(..., termination="expected")` it is exact, given
    the words:

    ```
    loss = -sum over t of p(end at t) * reward(words before t, end token)
    ```

    over all `T + 1` endings, that of no end included, each of which the reward
    reads: its time grows with the square of T. Of a reward that compares
    captions, others are as they were drawn, and what an ending does to theirs
    counts, too.

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
        expected = getattr(decoder, "termination", "") == "expected"
        if expected and reward.compares_samples and not reward.compares_drawn:
            raise ValueError(
                "`reward` must not compare captions, or know which of their "
                'endings were drawn, for `termination="expected"`. Received: '
                f"reward={type(reward).__name__}. Use Retrieval, or a contrast "
                'with images alone, `directions=("image",)`.'
            )
        super().__init__(
            name or reward.name, reward.terms, (decoder,), (), reduction
        )
        self.reward = reward
        self.decoder = decoder

    def rollout(self, episode):
        return self.judged(episode)

    def per_sample_loss(self, episode):
        rollout = episode.rollout(self.decoder)
        if rollout.endings is not None:
            return self._over_endings(rollout, episode)
        _, rewards, _, parts = self.rewarded(episode, gradient=True)
        return -rewards, rewards, parts

    def _over_endings(self, rollout, episode):
        """Losses of `per_sample_loss()`, expected over all endings."""
        every = every_ending(rollout, getattr(episode.speaker, "pad", 0))
        chances = ops.exp(rollout.endings.log_probs)  # (B, S, T + 1)

        def expected(values):
            values = ops.reshape(values, ops.shape(chances))
            return ops.sum(chances * ops.cast(values, chances.dtype), axis=-1)

        found = self.reward.scored(every, episode)
        credit, rewards = found.credit(), found.values
        parts = {name: expected(x) for name, x in found.terms.items()}
        # To others' rewards an ending is a constant: their words have the rest.
        effects = expected(ops.stop_gradient(credit - rewards))
        effects = effects - ops.stop_gradient(effects)
        rewards = expected(rewards)
        return -(rewards + effects), rewards, parts
