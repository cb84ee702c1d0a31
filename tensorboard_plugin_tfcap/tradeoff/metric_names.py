"""What metrics are called, and which way they are better."""

import re
from dataclasses import dataclass

from tensorboard_plugin_tfcap.tradeoff.methods import NATURALNESS

#: What a metric is of.
ROLES = ("naturalness", "recall", "other")
DIRECTIONS = ("higher", "lower")

_NATURAL = {
    **NATURALNESS,
    "bleu_1": "BLEU-1",
    "bleu_2": "BLEU-2",
    "bleu_3": "BLEU-3",
    "cider": "CIDEr",
    "cider_r": "CIDEr-R",
    "spider": "SPIDEr",
}
_RANKING = {
    "mrr": "MRR",
    "ndcg": "NDCG",
    "mean_rank": "mean rank",
    "median_rank": "median rank",
}
_PREFIXES = (
    *("val_", "test_", "human_", "fixed_", "unseen_", "image_to_text_"),
    "first_",
)
_RECALL = re.compile(r"(?:r|recall)[@_](\d+)$")
#: Words in the names of what should be small.
_LOWER = re.compile(
    r"(^|[_/ ])(rank|loss|perplexity|error|rate|unfinished|repeated|self_bleu)"
    r"([_/ ]|$)"
)


@dataclass(frozen=True)
class Metric:
    """A metric by which points are drawn.

    Args:
        name: String, what points call it.
        title: String for people.
        better: `"higher"` or `"lower"`.
        role: `"naturalness"`, `"recall"` or `"other"`.
    """

    name: str
    title: str
    better: str = "higher"
    role: str = "other"

    @property
    def sign(self):
        """1 where more is better, -1 where less is."""
        return 1 if self.better == "higher" else -1


def named_metric(name, title=None, better=None, role=None):
    """A metric, of which what is not said is told by its name.

    Args:
        name: String.
        title: String, optional.
        better: `"higher"` or `"lower"`, optional.
        role: `"naturalness"`, `"recall"` or `"other"`, optional.

    Returns:
        `Metric`.

    Raises:
        ValueError: If `better` or `role` is none of these.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import metric_names
    >>> metric = metric_names.named_metric("human_r@10")
    >>> metric.title, metric.better, metric.role
    ('human recall@10', 'higher', 'recall')
    >>> metric_names.named_metric("mean_rank").better
    'lower'
    """
    if better not in (None, *DIRECTIONS) or role not in (None, *ROLES):
        raise ValueError(
            f"`better` must be one of {', '.join(DIRECTIONS)}, `role` one of "
            f"{', '.join(ROLES)}. Received: better={better!r}, role={role!r} "
            f"for {name!r}."
        )
    prefix, base = _split(name)
    if base in _NATURAL:
        known = _NATURAL[base], "naturalness"
    elif base in _RANKING:
        known = _RANKING[base], "recall"
    elif found := _RECALL.match(base):
        known = f"recall@{found[1]}", "recall"
    else:
        known, prefix = (name, "other"), ""
    usual = "lower" if _LOWER.search(base) else "higher"
    return Metric(
        name, title or prefix + known[0], better or usual, role or known[1]
    )


def metric_order(metric):
    """What metrics are sorted by: naturalness, recall, then others."""
    known = [*_NATURAL, *_RANKING]
    prefix, base = _split(metric.name)
    place = known.index(base) if base in known else len(known)
    found = _RECALL.match(base)
    if found:
        place = len(_NATURAL) - 1 / (1 + int(found[1]))
    return ROLES.index(metric.role), prefix != "", prefix, place, metric.name


def metric_pool(name):
    """What a metric is of, by the words before its name: `"human "`."""
    return _split(name)[0]


def _split(name):
    """A name's prefixes, as words, and its end."""
    base, words = name, ""
    while prefix := next((p for p in _PREFIXES if base.startswith(p)), None):
        base = base.removeprefix(prefix)
        words += prefix.replace("_", " ")
    return words, base
