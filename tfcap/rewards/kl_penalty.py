"""Divergence of a speaker from a reference speaker, as a reward."""

from typing import Any

from keras import ops

from tfcap.rewards.embeddings import check_vocabulary
from tfcap.rewards.reward import Reward

KL_ESTIMATORS = ("k1", "k2", "k3")


def kl_estimate(log_ratio: Any, estimator: str = "k1") -> Any:
    """Estimates a divergence from the log ratios of what was drawn.

    ```
    k1 = log_ratio
    k2 = log_ratio ** 2 / 2
    k3 = exp(-log_ratio) - 1 + log_ratio
    ```

    of `log_ratio = log p(word) - log reference(word)`, words from `p`. The
    means of k1 and k3 are `KL(p || reference)`, that of k2 is nearly so where
    the two are close; k2 and k3 are never negative. The gradient of k2 is in
    the mean that of the divergence, those of k1 and k3 are not: k1's is 0.

    Args:
        log_ratio: Float tensor.
        estimator: `"k1"`, `"k2"` or `"k3"`.

    Returns:
        Float tensor of that shape.

    Example:

    >>> print(tfcap.rewards.kl_estimate(np.array([0.0, 2.0]), "k2").numpy())
    [0. 2.]

    Reference:

    - Schulman, Approximating KL Divergence, 2020
    """
    check_kl_estimator(estimator)
    if estimator == "k1":
        return log_ratio
    if estimator == "k2":
        return 0.5 * ops.square(log_ratio)
    return ops.expm1(-log_ratio) + log_ratio


def check_kl_estimator(estimator: str) -> None:
    """Refuses what names no estimator."""
    if estimator not in KL_ESTIMATORS:
        raise ValueError(
            f"`estimator` must be one of {KL_ESTIMATORS}. Received: "
            f"estimator={estimator!r}."
        )


def check_reference(reference: Any) -> None:
    """Refuses what cannot score words."""
    for method in ("begin", "log_probs"):
        if not hasattr(reference, method):
            raise TypeError(
                "`reference` must be a `tfcap.decoding.Speaker`. Received: "
                f"reference={reference!r}."
            )


def reference_log_probs(reference: Any, rollout: Any, episode: Any) -> Any:
    """Log probabilities `(B, S, T)` under a reference, without gradient."""
    check_vocabulary(reference, episode, "reference")
    state = reference.begin(episode.inputs, training=False)
    return ops.stop_gradient(episode.scores_by(reference, state, rollout))


class KLPenalty(Reward):
    """Minus an estimate of the divergence from a reference, in nats.

    ```
    E[reward] = -KL(speaker || reference)
    ```

    over whole captions. By k1, log probability under the reference less that
    under the speaker, the score-function estimator of it is without bias. It
    keeps a speaker that is trained for a reward from leaving the language
    that it has learned from people. As a loss, such as GRPO's, it is
    `tfcap.methods.grpo()`. Words that the decoder suppresses, and
    n-grams that it does not repeat, are impossible to the reference, too;
    `top_k` and `top_p` are the speaker's alone.

    Args:
        reference: `tfcap.decoding.Speaker` of the same vocabulary, which stays
            as it is, such as a copy of the speaker before training.
        name: String. Defaults to `"kl_penalty"`.
        estimator: `"k1"`, `"k2"` or `"k3"`, summed over words, see
            `tfcap.rewards.kl_estimate`. Defaults to `"k1"`.

    Example:

    >>> reference = tfcap.models.ShowTellSpeaker(50, units=8)
    >>> anchor = tfcap.rewards.KLPenalty(reference)
    >>> (tfcap.rewards.BLEU(4) + 0.05 * anchor).terms
    ('bleu_4', 'kl_penalty')

    Reference:

    - Jaques et al., Sequence Tutor: Conservative Fine-Tuning of Sequence
      Generation Models with KL-control, ICML 2017
    """

    reads_log_probs = True
    judges = False

    def __init__(
        self,
        reference: Any,
        name: str = "kl_penalty",
        estimator: str = "k1",
    ):
        check_reference(reference)
        check_kl_estimator(estimator)
        self.reference = reference
        self.name = name
        self.estimator = estimator

    def call(self, rollout, episode):
        familiar = reference_log_probs(self.reference, rollout, episode)
        own = ops.stop_gradient(episode.log_probs(rollout))
        log_ratio = ops.where(rollout.mask > 0, own - familiar, 0.0)
        return -ops.sum(kl_estimate(log_ratio, self.estimator), axis=-1)
