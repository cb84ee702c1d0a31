"""Choosing among the splits of a data set by their names."""


def choose_splits(split, counts, path):
    """The names of the splits that are asked for.

    Args:
        split: String, names joined by a plus (`"train+restval"`); list of
            names; or None, which does where there is one split only.
        counts: Dict of the name of each split to its number of images.
        path: String or path, for the messages.

    Returns:
        List of names.

    Raises:
        ValueError: If there is no such split, or if there are several and
            none is asked for.

    Example:

    >>> from tfcap.data.split_names import choose_splits
    >>> choose_splits("train+val", {"train": 6, "val": 1, "test": 1}, "f.json")
    ['train', 'val']
    """
    there = ", ".join(f"{name!r} ({n:,})" for name, n in counts.items())
    if split is None:
        if len(counts) == 1:
            return list(counts)
        raise ValueError(
            "`split` must be given for a file with several splits. Received: "
            f"split=None, path={str(path)!r}. It has the splits {there}."
        )
    wanted = split.split("+") if isinstance(split, str) else list(split)
    absent = [name for name in wanted if name not in counts]
    if absent or not wanted:
        raise ValueError(
            "`split` must name splits of the file. Received: "
            f"split={split!r}, path={str(path)!r}. It has the splits {there}."
        )
    return wanted
