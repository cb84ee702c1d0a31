"""Sampling from the likely words alone."""

from keras import ops

from tfcap.ops.arguments import checked_integer
from tfcap.ops.arguments import checked_number

_NEVER = -1e9


def truncated(logits, top_k=None, top_p=None):
    """Logits under which unlikely words are impossible.

    Args:
        logits: Float tensor of shape `(n, V)`.
        top_k: Integer, how many of the most likely words stay possible, or
            `None` for all. Words that are as likely as the last of them stay,
            too.
        top_p: Float in `(0, 1]`: the fewest most likely words stay possible
            that have this probability together, after `top_k`; or `None`.

    Returns:
        Float32 tensor of shape `(n, V)`, -1e9 for the other words; `logits` as
        they are where neither is given.

    Reference:

    - Fan et al., Hierarchical Neural Story Generation, ACL 2018 (top-k)
    - Holtzman et al., The Curious Case of Neural Text Degeneration, ICLR 2020
      (top-p)
    """
    if top_k is None and top_p is None:
        return logits
    logits = ops.cast(logits, "float32")
    if top_k is not None and top_k < logits.shape[-1]:
        least = ops.top_k(logits, top_k)[0][..., -1:]
        logits = ops.where(logits < least, _NEVER, logits)
    if top_p is not None:
        ranked = ops.flip(ops.sort(logits, axis=-1), axis=-1)
        chances = ops.softmax(ranked, axis=-1)
        # A word stays unless those before it suffice.
        before = ops.cumsum(chances, axis=-1) - chances
        stays = before < top_p
        least = ops.min(
            ops.where(stays, ranked, ops.max(ranked)), axis=-1, keepdims=True
        )
        logits = ops.where(logits < least, _NEVER, logits)
    return logits


def checked_truncation(top_k, top_p):
    """Returns both; refuses what is no number of words, or no probability."""
    if top_k is not None:
        top_k = checked_integer(
            top_k, "top_k", "a positive integer, or None for all words"
        )
    if top_p is not None:
        top_p = checked_number(
            top_p,
            "top_p",
            "in (0, 1], or None for all words",
            lambda x: 0 < x <= 1,
        )
    return top_k, top_p
