"""Checks of what a speaker's step returns."""

from keras import ops

from tfcap.ops import check_shape
from tfcap.ops.arguments import check_values


def check_logits(logits, speaker):
    """Refuses logits of another vocabulary, and probabilities for logits.

    Rows that are nowhere negative and add up to 1 are probabilities: their
    softmax would be nearly uniform, and nothing else would tell.

    Args:
        logits: Float tensor of shape `(n, V)`, from `speaker.step()`.
        speaker: `tfcap.decoding.Speaker`.

    Raises:
        ValueError: If `step()` returned anything else than logits of its
            words; for probabilities, see
            `tfcap.ops.arguments.check_values()`.
    """
    size = speaker.vocabulary_size
    check_shape(logits, "n V", "logits")
    if logits.shape[-1] not in (None, size):
        raise ValueError(
            "`speaker.step()` must return a logit for every word. Received: "
            f"logits of shape {tuple(logits.shape)} from a speaker with "
            f"vocabulary_size={size}."
        )
    values = ops.cast(ops.stop_gradient(logits), "float32")
    total = ops.sum(values, axis=-1)
    normal = ops.logical_and(
        ops.all(values >= 0), ops.all(ops.abs(total - 1.0) < 1e-3)
    )
    # One-hot rows are the logits of who knows what to say; of no rows,
    # everything holds.
    unsure = ops.any(ops.max(values, axis=-1) < 0.999)
    normal = ops.logical_and(normal, unsure)
    check_values(
        ops.logical_not(normal),
        "`speaker.step()` must return logits. Received: probabilities, rows "
        "that are not negative and add up to 1. Return what stands before "
        "the softmax, or the logarithm of the probabilities.",
    )
