"""Gradients through the words, and of the decision to stop."""

from keras import ops

from tfcap.decoding import Sample
from tfcap.decoding.endings import SampleEndings
from tfcap.decoding.endings import every_ending
from tfcap.objectives.score_function import Pathwise


class ExpectedEnding(Pathwise):
    """`Pathwise`, with the exact gradient of the decision to stop.

    ```
    loss = -sum over t of p(end at t) * reward(words before t, end token)
    ```

    `T` words are drawn without the end token, and all `T + 1` endings, one
    without an end included, are weighted by their probabilities: given the
    words, the gradient to the probabilities is exact. The reward reads every
    ending, so that its time grows with the square of T. For a reward that
    compares captions, the others are those that were drawn, and the effect of
    an ending on their rewards counts, too.

    Args:
        reward: `tfcap.rewards.Reward` that is differentiable.
        decoder: `tfcap.decoding.Sample` of a channel through which gradients
            pass, of a speaker with one end token.
        name: String. Defaults to the reward's name.
        reduction: As in `Estimator`.

    Raises:
        ValueError: If there is no gradient, or if the reward compares captions
            without knowing which of their endings were drawn.

    Example:

    >>> listener = tfcap.models.RetrievalListener(50, units=8)
    >>> sample = tfcap.decoding.Sample(tfcap.layers.PartialSamplingST(rho=0.25))
    >>> objective = tfcap.objectives.ExpectedEnding(
    ...     tfcap.rewards.Retrieval(listener), sample
    ... )
    """

    def __init__(self, reward, decoder, name=None, reduction="mean"):
        super().__init__(reward, decoder, name, reduction)
        if not isinstance(decoder, Sample):
            raise TypeError(
                "`decoder` must be a `tfcap.decoding.Sample` for "
                f"ExpectedEnding. Received: decoder={decoder!r}."
            )
        terms = [each for _, each in getattr(self.reward, "weighted", ())]
        for each in terms or [self.reward]:
            compares = each.compares_samples
            if compares and not getattr(each, "compares_drawn", False):
                raise ValueError(
                    "`reward` must not compare captions for ExpectedEnding, "
                    "unless it knows which endings were drawn. Received: "
                    f"reward={type(each).__name__}. Use Retrieval, or a "
                    'contrast with images alone, `directions=("image",)`.'
                )
        self.decoder = SampleEndings(decoder)
        self.decoders = (self.decoder,)

    def per_sample_loss(self, episode):
        rollout = episode.rollout(self.decoder)
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
