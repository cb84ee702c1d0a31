"""What compares the samples of a row needs several."""

from keras import ops


def check_several(rewards, who):
    """Refuses rewards of one sample a row.

    Args:
        rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.
        who: String, who compares them.
    """
    if rewards.shape[1] is not None and rewards.shape[1] < 2:
        raise ValueError(
            f"{who} needs at least 2 samples of each row. Received: rewards "
            f"of shape {tuple(rewards.shape)}. Set `num_samples` of the "
            "decoder."
        )


def present_samples(rewards, episode):
    """Which samples a baseline compares.

    Args:
        rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.
        episode: `tfcap.objectives.Episode`, of `scoring()`; or `None` where
            all samples are present.

    Returns:
        Boolean tensor of shape `(B, S)` or `(B, S, 1)`.
    """
    rollout = getattr(episode, "scored", None)
    if rollout is None:
        said = ops.ones(ops.shape(rewards)[:2], dtype="bool")
    else:
        said = rollout.nonempty
    return said if len(rewards.shape) == 2 else said[..., None]


def from_first(rewards, present):
    """Rewards, from a row's first one on.

    Of equal numbers, means of such differences are exactly 0.

    Args:
        rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.
        present: Boolean tensor of shape `(B, S)` or `(B, S, 1)`.

    Returns:
        The first reward of a row that is present, `(B, 1)` or `(B, 1, T)`, and
        the differences, of the shape of `rewards`, 0 where absent.
    """
    rewards = ops.where(present, rewards, 0)
    place = ops.argmax(ops.cast(present, "int32"), axis=1, keepdims=True)
    place = ops.broadcast_to(place, ops.shape(rewards[:, :1]))
    first = ops.take_along_axis(rewards, place, axis=1)
    return first, ops.where(present, rewards - first, 0)
