"""What tells how well words are reinforced."""

from keras import ops

from tfcap.objectives.several_samples import from_first

#: Rewards that differ by less are equal but for float error.
FLAT = 1e-5


def health_keys(decoder, baseline):
    """Keys of what is logged beside a reward, as far as it can be known.

    Args:
        decoder: `tfcap.decoding.Decoder`.
        baseline: That of the estimator, or `None`.

    Returns:
        Tuple of strings.
    """
    keys = "std", "length", "clipped", "entropy"
    if getattr(decoder, "num_samples", 1) > 1:
        keys = (*keys, "flat_groups")
    if baseline is not None:
        keys = (*keys, "baseline", "advantage", "advantage_std")
    return keys


def check_parts(reward, keys):
    """Refuses a reward one of whose parts is named as what is logged."""
    taken = [name for name in reward.terms if name in keys]
    if taken:
        raise ValueError(
            "`reward` must have parts with names of their own, since "
            f"{', '.join(keys)} are logged beside them. Received: a part named "
            f"{taken[0]!r}. Give that reward another `name`."
        )


def health_of_words(rollout, log_probs, eos):
    """Length, share of clipped sequences, and surprise, to be averaged.

    Args:
        rollout: `tfcap.decoding.Rollout`.
        log_probs: Float tensor of shape `(B, S, T)`.
        eos: Integer, the end token's id.

    Returns:
        Dict of float tensors of shape `(B, S)` or `(B, S, T)`.
    """
    # By the words, since references that are cut may be padded further.
    ends = ops.equal(rollout.tokens, eos) & (rollout.mask > 0)
    return {
        "length": ops.sum(rollout.mask, axis=-1),
        "clipped": 1.0 - ops.cast(ops.any(ends, axis=-1), "float32"),
        "entropy": -log_probs,
    }


def flat_groups(rewards, said):
    """1 for rows whose samples have equal rewards.

    Args:
        rewards: Float tensor of shape `(B, S)`.
        said: Boolean tensor of shape `(B, S)`, which samples are present.

    Returns:
        Float tensor of shape `(B, 1)`.
    """
    _, above = from_first(rewards, said)
    gap = ops.max(above, axis=1) - ops.min(above, axis=1)
    return ops.cast(gap < FLAT, "float32")[:, None]
