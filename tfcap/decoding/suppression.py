"""Words that a decoder never says."""

import numpy as np
from keras import ops


def check_suppress(suppress):
    """Refuses what is not a sequence of word ids.

    Args:
        suppress: Iterable of integers.

    Returns:
        Tuple of integers.
    """
    ids = tuple(suppress) if np.iterable(suppress) else None
    if ids is None or not all(
        isinstance(i, int | np.integer) and i >= 0 for i in ids
    ):
        raise ValueError(
            "`suppress` must be a tuple of word ids that are never said, such "
            f"as `(vocabulary.unk,)`. Received: suppress={suppress!r}."
        )
    return tuple(int(i) for i in ids)


def never_said(speaker):
    """Ids that no sequence holds, which a speaker may still weigh.

    A sequence is padded with 0 and begins after the start token: a word of
    either id would be scored as no word at all.

    Args:
        speaker: `tfcap.decoding.Speaker`.

    Returns:
        Tuple of integers, those of 0 and `bos` that its logits may not have
        ruled out already.

    Raises:
        ValueError: If the end token has the id of padding.
    """
    if speaker.eos == 0:
        raise ValueError(
            "`speaker.eos` must not be 0, the id of padding. Received: "
            f"speaker={speaker!r} with eos=0. Shift the ids of its words by "
            "one."
        )
    known = {*getattr(speaker, "unsaid", ()), speaker.eos}
    return tuple(sorted({0, speaker.bos} - known))


def suppressed(logits, suppress):
    """Logits under which some words are impossible.

    Args:
        logits: Float tensor of shape `(..., V)`.
        suppress: Tuple of integers, ids of those words.

    Returns:
        Float32 tensor of shape `(..., V)`, -1e9 for these words; `logits` as
        they are where there are none.

    Raises:
        ValueError: If an id is outside the vocabulary.
    """
    if not suppress:
        return logits
    size = logits.shape[-1]
    if max(suppress) >= size:
        raise ValueError(
            "`suppress` must hold ids of the vocabulary. Received: "
            f"suppress={suppress} with {size} words."
        )
    unsaid = np.zeros(size, "bool")
    unsaid[list(suppress)] = True
    return ops.where(unsaid, -1e9, ops.cast(logits, "float32"))
