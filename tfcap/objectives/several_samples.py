"""What compares the samples of a row needs several."""


def check_several(rewards, who):
    """Refuses rewards of one sample a row.

    Args:
        rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.
        who: String, who compares them.
    """
    if rewards.shape[1] < 2:
        raise ValueError(
            f"{who} needs at least 2 samples of each row. Received: rewards "
            f"of shape {tuple(rewards.shape)}. Set `num_samples` of the "
            "decoder."
        )
