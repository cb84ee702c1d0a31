"""Names of scores in records, by what they are scores of."""

#: Scores of how a listener finds images.
_RETRIEVAL = ("r@1", "r@5", "r@10", "median_rank", "mean_rank", "mrr")


def named(kind, scores):
    """Scores of another decoding, by their names in records."""
    return {
        f"{kind}_{name}": score
        for name, score in scores.items()
        if not name.startswith("human_")
    }


def human_scores(row, scores):
    """Scores of human captions, under the names of a speaker's."""
    prefix = "human_"
    found = {
        name.removeprefix(prefix): score
        for name, score in scores.items()
        if name.startswith(prefix)
    }
    return found | fixed_scores(row, found)


def fixed_scores(row, scores):
    """The listener that is trained on human captions is the fixed one."""
    if row != "listener_gt":
        return {}
    return {f"fixed_{k}": scores[k] for k in _RETRIEVAL if k in scores}
