"""Clipped importance ratios of words that an earlier policy has drawn."""

from typing import Any

from keras import ops

from tfcap._ops.arguments import checked_number

LEVELS = ("word", "sequence")


class ClippedRatio:
    """The clipped surrogate of PPO, GRPO, DAPO and GSPO.

    With the log probabilities `q` under which words were drawn, and a policy
    that has moved since,

    ```
    ratio[t] = exp(log_prob[t] - q[t])                             # "word"
    ratio[t] = exp(mean over the words of log_prob - q)            # "sequence"
    loss = sum_t max(
        slope[t] * ratio[t],
        slope[t] * clip(ratio[t], 1 - lower, 1 + upper),
    )
    ```

    where `slope` is the gradient of the loss by `log_prob` at the draw: of
    `tfcap.objectives.ScoreFunction` minus the advantage, normalized. Where the
    policy has not moved, the gradient is that of the loss itself. For several
    updates a rollout, see `tfcap.training.JointTraining`.

    Args:
        lower: Float in `(0, 1]`, how far below 1 a ratio may fall. Defaults to
            `0.2`.
        upper: Float, positive, how far above 1 it may rise, `math.inf` for
            no bound; more than `lower` in DAPO, "clip-higher". Defaults to
            `None`, `lower`.
        level: String, of what a ratio is: `"word"`, or `"sequence"`, the
            geometric mean over its words, as of GSPO, which takes bounds of a
            few ten thousandths. Defaults to `"word"`.

    Call arguments:
        slopes: Float tensor of shape `(B, S, T)`.
        log_probs: Float tensor of shape `(B, S, T)`, of the policy.
        drawn: Float tensor of shape `(B, S, T)`, log probabilities of the
            sampler.
        mask: Float tensor of shape `(B, S, T)`, nonzero where there is a word.

    Returns:
        Losses of shape `(B, S, T)`, and a float tensor of that shape, 1 for
        words whose gradient is clipped away.

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
        if level not in LEVELS:
            raise ValueError(
                f"`level` must be one of {LEVELS}. Received: level={level!r}."
            )
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
