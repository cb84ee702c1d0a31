"""What BLEU does about an order without a match, on the host and in a graph."""

#: How an order without a match is treated: as pycocoevalcap does, or smoothed.
SMOOTHINGS = (None, "add_one", "floor", "exponential")
#: The constants of pycocoevalcap.
TINY, SMALL = 1e-15, 1e-9
#: What stands for zero matches with "floor".
FLOOR = 0.1


def check_smoothing(smoothing):
    """Raises unless `smoothing` is known."""
    if smoothing not in SMOOTHINGS:
        raise ValueError(
            f"`smoothing` must be one of {SMOOTHINGS}. Received: "
            f"smoothing={smoothing!r}."
        )
