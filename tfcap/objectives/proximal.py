"""Clipped ratios and divergences from another policy."""

from typing import Any

from keras import ops

from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_number
from tfcap._printed import printed
from tfcap.objectives.estimator import Estimator
from tfcap.objectives.estimator import check_decoder
from tfcap.objectives.estimator import check_discrete
from tfcap.objectives.estimator import scored_anew
from tfcap.rewards.distributions import SCORES
from tfcap.rewards.distributions import reference_log_probs
from tfcap.rewards.reward import check_methods

KL_ESTIMATORS = ("k1", "k2", "k3")
LEVELS = ("word", "sequence")
NORMALIZATIONS = ("sequence", "length")


class ClippedRatio:
    """The clipped surrogate of PPO, GRPO, DAPO and GSPO.

    With the log probabilities `q` under which words were drawn, and a policy
    that has changed since,

    ```
    ratio[t] = exp(log_prob[t] - q[t])                             # "word"
    ratio[t] = exp(mean over the words of log_prob - q)            # "sequence"
    loss = sum_t max(
        slope[t] * ratio[t],
        slope[t] * clip(ratio[t], 1 - lower, 1 + upper),
    )
    ```

    where `slope` is the gradient of the loss with respect to `log_prob` at the
    time of sampling, in `tfcap.objectives.ScoreFunction` minus the normalized
    advantage. If the policy has not changed, the gradient is that of the loss
    itself. For several updates of a rollout, see
    `tfcap.training.JointTraining`.

    Args:
        lower: Float in `(0, 1]`, how far a ratio may fall below 1. Defaults to
            `0.2`.
        upper: Float, positive, how far it may rise above 1, `math.inf` for
            no bound; larger than `lower` in DAPO, "clip-higher". Defaults to
            `None`, `lower`.
        level: String, scope of a ratio: `"word"`, or `"sequence"`, the
            geometric mean over its words, as in GSPO, with bounds of a few
            ten-thousandths. Defaults to `"word"`.

    Call arguments:
        slopes: Float tensor of shape `(B, S, T)`.
        log_probs: Float tensor of shape `(B, S, T)`, of the policy.
        drawn: Float tensor of shape `(B, S, T)`, log probabilities of the
            sampler.
        mask: Float tensor of shape `(B, S, T)`, nonzero where there is a word.

    Returns:
        Losses of shape `(B, S, T)`, and a float tensor of that shape, 1 for
        words whose gradient is clipped.

    Example:

    >>> clipped = tfcap.objectives.ClippedRatio(0.2, 0.28)
    >>> drawn, slopes = np.zeros((1, 1, 2)), np.array([[[-1.0, -1.0]]])
    >>> losses, away = clipped(
    ...     slopes, np.log([[[1.1, 1.5]]]), drawn, np.ones((1, 1, 2))
    ... )
    >>> print(losses.numpy(), away.numpy())
    [[[-1.1  -1.28]]] [[[0. 1.]]]

    Reference:

    - Schulman et al., Proximal Policy Optimization Algorithms, 2017, equation 7
    - Shao et al., DeepSeekMath, 2024 (GRPO), equation 3
    - Yu et al., DAPO, 2025, equation 10
    - Zheng et al., Group Sequence Policy Optimization, 2025, equations 7 and
      13: words of a sequence share its ratio and keep slopes of their own
    """

    __repr__ = printed

    def __init__(
        self,
        lower: float = 0.2,
        upper: float | None = None,
        level: str = "word",
    ):
        self.lower = checked_number(
            lower, "lower", "in (0, 1]", lambda x: 0 < x <= 1
        )
        upper = lower if upper is None else upper
        self.upper = float(upper)
        if not self.upper > 0:
            raise ValueError(
                f"`upper` must be positive. Received: upper={upper}. Use "
                "`math.inf` for no bound."
            )
        check_choice(level, "level", LEVELS)
        self.level = level

    def __call__(
        self, slopes: Any, log_probs: Any, drawn: Any, mask: Any
    ) -> tuple[Any, Any]:
        # What is absent may be infinite.
        counted = ops.logical_and(mask > 0, slopes != 0)
        moved = ops.where(mask > 0, log_probs - drawn, 0.0)
        value = ops.stop_gradient(moved)
        if self.level == "sequence":
            words = ops.sum(ops.cast(mask > 0, value.dtype), -1, keepdims=True)
            value = ops.sum(value, axis=-1, keepdims=True)
            value = value / ops.maximum(words, 1.0)
            # The value is the sequence's, the gradient every word's own.
            value = value + ops.zeros_like(moved)
        ratio = ops.exp(value)
        bounded = ops.clip(ratio, 1.0 - self.lower, 1.0 + self.upper)
        away = ops.logical_and(slopes * bounded > slopes * ratio, counted)
        ratio = ratio * ops.exp(moved - ops.stop_gradient(moved))
        losses = slopes * ops.where(away, bounded, ratio)
        return ops.where(counted, losses, 0.0), ops.cast(away, value.dtype)


class KLDivergence(Estimator):
    """A differentiable estimate of the KL divergence from a reference.

    ```
    loss = sum_t k(log p(word[t]) - log reference(word[t]))
    k1(log_ratio) = log_ratio
    k2(log_ratio) = log_ratio ** 2 / 2
    k3(log_ratio) = exp(-log_ratio) - 1 + log_ratio
    ```

    The means of k1 and k3 are `KL(p || reference)`, and so is that of k2 for
    similar distributions; k2 and k3 are never negative. Their gradient reaches
    the speaker through the log probabilities, with constant words. The mean
    gradient of k2 is that of every word's divergence given the words before:
    unlike with `ScoreFunction` of `tfcap.rewards.KLPenalty`, an earlier word
    gets no credit for later ones. GRPO has k3, whose mean gradient is that of
    the reverse divergence, word by word.

    Words that the decoder rules out are impossible under the reference, too.

    Args:
        reference: Fixed `tfcap.decoding.Speaker`.
        decoder: `tfcap.decoding.Decoder` of discrete words that are drawn.
        estimator: `"k1"`, `"k2"` or `"k3"`. The mean gradient of k1 is 0.
            Defaults to `"k2"`.
        normalize: `"sequence"`, the sum over words, or `"length"`, their mean.
            Defaults to `"sequence"`.
        name: String. Defaults to `"kl_divergence"`.

    Example:

    >>> from tfcap.objectives.proximal import KLDivergence
    >>> reference = tfcap.models.ShowTellSpeaker(50, units=8)
    >>> samples = tfcap.decoding.Sample(num_samples=4)
    >>> anchor = KLDivergence(reference, samples, "k3")
    >>> anchor.name
    'kl_divergence'

    Reference:

    - Shao et al., DeepSeekMath, 2024, equation 4 (k3, by words)
    - Schulman, Approximating KL Divergence, 2020: k1, k2 and k3
    """

    def __init__(
        self,
        reference: Any,
        decoder: Any,
        estimator: str = "k2",
        normalize: str = "sequence",
        name: str = "kl_divergence",
    ):
        check_methods(reference, "reference", *SCORES)
        check_decoder(decoder)
        check_choice(estimator, "estimator", KL_ESTIMATORS)
        check_choice(normalize, "normalize", NORMALIZATIONS)
        super().__init__(name, (), (decoder,))
        self.reference = reference
        self.decoder = decoder
        self.estimator = estimator
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
        losses = ops.sum(kl_estimate(log_ratio, self.estimator), axis=-1)
        if self.normalize == "length":
            words = ops.sum(rollout.mask, axis=-1)
            losses = losses / ops.maximum(words, 1.0)
        return losses, losses, {}


def kl_estimate(log_ratio: Any, estimator: str) -> Any:
    """Estimates a divergence from log ratios, see `KLDivergence`.

    Example:

    >>> from tfcap.objectives.proximal import kl_estimate
    >>> print(kl_estimate(np.array([0.0, 2.0]), "k2").numpy())
    [0. 2.]
    """
    if estimator == "k1":
        return log_ratio
    if estimator == "k2":
        return 0.5 * ops.square(log_ratio)
    return ops.expm1(-log_ratio) + log_ratio
