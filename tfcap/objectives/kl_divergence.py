"""Divergence of a speaker from a reference speaker, as a loss."""

from typing import Any

from keras import ops

from tfcap.objectives.estimator import Estimator
from tfcap.objectives.estimator import check_decoder
from tfcap.objectives.estimator import check_discrete
from tfcap.objectives.estimator import scored_anew
from tfcap.rewards.distributions import check_kl_estimator
from tfcap.rewards.distributions import check_reference
from tfcap.rewards.distributions import kl_estimate
from tfcap.rewards.distributions import reference_log_probs

LEVELS = ("word", "sequence")
NORMALIZATIONS = ("sequence", "length")


class KLDivergence(Estimator):
    """An estimate of the divergence from a reference, differentiated.

    ```
    loss = sum_t k(log p(word[t]) - log reference(word[t]))    # "word"
    loss = k(sum_t log p(word[t]) - log reference(word[t]))    # "sequence"
    ```

    with `k` as of `tfcap.rewards.KLPenalty`, whose gradient reaches the
    speaker through the log probabilities, the drawn words being constants. By
    sequences, the gradient of k2 is in the mean that of the divergence, as
    `ScoreFunction` of `tfcap.rewards.KLPenalty` has it. By words, it is that
    of what every word adds, given the words before: an earlier word has no
    credit for where it leads. GRPO has k3 by words, whose mean gradient is
    another: that of the divergence of the reference from the speaker, word by
    word.

    What the decoder rules out is impossible to the reference, too, as that of
    `tfcap.rewards.KLPenalty`.

    Args:
        reference: `tfcap.decoding.Speaker` that stays as it is.
        decoder: `tfcap.decoding.Decoder` of discrete words that are drawn.
        estimator: `"k1"`, `"k2"` or `"k3"`. Of k1 the gradient is 0 in the
            mean. Defaults to `"k2"`.
        level: `"word"` or `"sequence"`. Defaults to `"word"`.
        normalize: `"sequence"`, the sum over words, or `"length"`, their mean.
            Defaults to `"sequence"`.
        name: String. Defaults to `"kl_divergence"`.

    Example:

    >>> reference = tfcap.models.ShowTellSpeaker(50, units=8)
    >>> samples = tfcap.decoding.Sample(num_samples=4)
    >>> anchor = tfcap.objectives.KLDivergence(reference, samples, "k3")
    >>> anchor.name
    'kl_divergence'

    Reference:

    - Shao et al., DeepSeekMath, 2024, equation 4 (k3, by words)
    - Schulman, Approximating KL Divergence, 2020
    """

    scores_words = True

    def __init__(
        self,
        reference: Any,
        decoder: Any,
        estimator: str = "k2",
        level: str = "word",
        normalize: str = "sequence",
        name: str = "kl_divergence",
    ):
        check_reference(reference)
        check_decoder(decoder)
        check_kl_estimator(estimator)
        choices = {
            "level": (level, LEVELS),
            "normalize": (normalize, NORMALIZATIONS),
        }
        for argument, (value, known) in choices.items():
            if value not in known:
                raise ValueError(
                    f"`{argument}` must be one of {known}. Received: "
                    f"{argument}={value!r}."
                )
        super().__init__(name, (), (decoder,))
        self.reference = reference
        self.decoder = decoder
        self.estimator = estimator
        self.level = level
        self.normalize = normalize

    def rollout(self, episode):
        return episode.rollout(self.decoder)

    def per_sample_loss(self, episode):
        rollout = episode.rollout(self.decoder)
        check_discrete(rollout, self.decoder, self)
        rollout = scored_anew(rollout, self.decoder)
        familiar = reference_log_probs(self.reference, rollout, episode)
        own = episode.log_probs(rollout)
        log_ratio = ops.where(rollout.mask > 0, own - familiar, 0.0)
        if self.level == "sequence":
            log_ratio = ops.sum(log_ratio, axis=-1, keepdims=True)
        losses = ops.sum(kl_estimate(log_ratio, self.estimator), axis=-1)
        if self.normalize == "length":
            words = ops.sum(rollout.mask, axis=-1)
            losses = losses / ops.maximum(words, 1.0)
        return losses, losses, {}
