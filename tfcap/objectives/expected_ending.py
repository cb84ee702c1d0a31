"""Gradients that pass through the words, and to the decision to stop."""

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

    Words are drawn from all but the end token, to the last, and all `T + 1`
    endings, that of no end included, are weighed by their probabilities: given
    the words, the gradient to these is exact. The reward reads each of them:
    its time grows with the square of T. Of a reward that compares captions,
    others are as they were drawn, and what an ending does to theirs counts,
    too.

    Args:
        reward: `tfcap.rewards.Reward` that is differentiable.
        decoder: `tfcap.decoding.Sample` of a channel through which gradients
            pass, of a speaker with one end token.
        name: String. Defaults to the reward's name.
        reduction: As that of `Estimator`.

    Raises:
        ValueError: If no gradient could pass, or if the reward compares
            captions and cannot tell which of their endings were drawn.

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
                    "`reward` must not compare captions for ExpectedEnding, or "
                    "know which of their endings were drawn. Received: reward="
                    f"{type(each).__name__}. Use Retrieval, or a contrast "
                    'with images alone, `directions=("image",)`.'
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
