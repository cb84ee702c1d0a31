"""Cross-entropy of word sequences."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import token_log_probs
from tfcap._ops.arguments import check_shapes
from tfcap.losses.masked_loss import MaskedLoss
from tfcap.losses.masked_loss import align
from tfcap.losses.masked_loss import reduce_loss

REDUCED_OVER = ("sequence", "token")


def sequence_crossentropy(
    tokens: Any,
    logits: Any,
    reduction_over="sequence",
    reduction=None,
    pad: int = 0,
) -> Any:
    """Negative log likelihood of word sequences.

    ```
    word     = -log(softmax(logits_t)[token_t]), 0 where token_t is padding
    sequence = sum_t word
    ```

    Args:
        tokens: Integer tensor of shape `(..., T)`, padded with `pad`, the end
            token included.
        logits: Float tensor of shape `(..., T, V)`.
        reduction_over: `"sequence"` for one value per sequence, the sum over
            its words, or `"token"` for one value per word. A mean over
            sequences weighs long ones by their length; a mean over words
            weighs words alike. Defaults to `"sequence"`.
        reduction: `None`, `"mean"` (over what is not padding, of all replicas,
            this replica's share) or `"sum"`. Defaults to `None`.
        pad: Integer, id of padding, as of `SequenceCrossentropy`. Defaults to
            `0`.

    Returns:
        Float32 tensor of shape `(...)` or, over tokens, `(..., T)`; a scalar
        if reduced.

    Example:

    >>> tokens, logits = np.array([[3, 2, 0]]), np.zeros((1, 3, 4))
    >>> loss = tfcap.losses.sequence_crossentropy(tokens, logits)
    >>> print(np.exp(loss).round(4))
    [16.]
    """
    check_reduction_over(reduction_over)
    values, present = _values_and_present(tokens, logits, reduction_over, pad)
    return reduce_loss(values, present, reduction=reduction)


@keras.saving.register_keras_serializable(package="tfcap")
class SequenceCrossentropy(MaskedLoss):
    """Teacher-forcing loss of a speaker, for `compile()`.

    ```
    word = -log(softmax(logits_t)[token_t])
    loss = mean over sequences of the sum of their words   over "sequence"
    loss = mean over words                                 over "token"
    ```

    Padding counts in neither mean. The computation is pinned to float32:
    Keras casts labels to a loss's dtype, and half precision would change word
    ids beyond 2048 (256 in bfloat16).

    Args:
        reduction_over: `"sequence"` or `"token"`. Defaults to `"sequence"`,
            the likelihood of whole captions or answers.
        name: String. Defaults to `"sequence_crossentropy"`.
        reduction: As in Keras. Defaults to `"sum_over_batch_size"`, the mean
            over sequences or words.
        pad: Integer, id of padding, as that of the speaker. Where it also
            ends sequences, their ends are not told from it, and do not count:
            `tfcap.objectives.TeacherForcing` knows them apart. Defaults to
            `0`.

    Call arguments:
        y_true: Integer tensor of shape `(B, ..., T)`, word ids padded with
            `pad`, the end token included.
        y_pred: Float tensor of shape `(B, ..., T, V)`, logits.

    Returns:
        Float32 scalar tensor; if `reduction` is `None`, of shape `(B, ...)`
        or, over tokens, `(B, ..., T)`.

    Example:

    >>> loss = tfcap.losses.SequenceCrossentropy(reduction_over="token")
    >>> tokens, logits = np.array([[3, 2, 0]]), np.zeros((1, 3, 4))
    >>> print(np.exp(loss(tokens, logits)).round(4))
    4.0
    """

    def __init__(
        self,
        reduction_over="sequence",
        name: str = "sequence_crossentropy",
        reduction="sum_over_batch_size",
        pad: int = 0,
    ):
        super().__init__(name=name, reduction=reduction, dtype="float32")
        check_reduction_over(reduction_over)
        self.reduction_over = reduction_over
        self.pad = pad

    def values_and_present(self, y_true, y_pred):
        over = self.reduction_over
        return _values_and_present(y_true, y_pred, over, self.pad)

    def hide(self, y_true, mask):
        mask = align(mask, len(y_true.shape), "mask")
        return ops.where(mask, y_true, self.pad)

    def get_config(self):
        return {
            **super().get_config(),
            "reduction_over": self.reduction_over,
            "pad": self.pad,
        }


def check_reduction_over(reduction_over):
    """Refuses what is neither "sequence" nor "token"."""
    if reduction_over not in REDUCED_OVER:
        raise ValueError(
            f"`reduction_over` must be one of {REDUCED_OVER}. "
            f"Received: reduction_over={reduction_over!r}."
        )


def _values_and_present(tokens, logits, reduction_over, pad):
    check_shapes(logits=(logits, "... T V"), tokens=(tokens, "... T"))
    tokens = ops.cast(tokens, "int32")
    words = ops.not_equal(tokens, pad)
    values = ops.where(words, -token_log_probs(logits, tokens), 0)
    if reduction_over == "token":
        return values, words
    return ops.sum(values, axis=-1), ops.any(words, axis=-1)
