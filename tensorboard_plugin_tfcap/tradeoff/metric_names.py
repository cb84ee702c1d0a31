"""Titles, roles and directions of metrics, by their names."""

import re
from dataclasses import dataclass

from tensorboard_plugin_tfcap.tradeoff.directions import direction

#: What a metric measures.
ROLES = ("naturalness", "recall", "other")
DIRECTIONS = ("higher", "lower")

#: Measures of naturalness that papers report, and their titles.
NATURALNESS = {
    "bleu_4": "BLEU-4",
    "cider_d": "CIDEr-D",
    "meteor": "METEOR",
    "rouge_l": "ROUGE-L",
    "spice": "SPICE",
}
_NATURAL = {
    **NATURALNESS,
    "lm_log_prob": "log prob / word",
    "bleu_1": "BLEU-1",
    "bleu_2": "BLEU-2",
    "bleu_3": "BLEU-3",
    "cider": "CIDEr",
    "cider_r": "CIDEr-R",
    "spice_spacy": "SPICE (spaCy)",
    "spider": "SPIDEr",
    "spider_spacy": "SPIDEr (spaCy)",
}
_RANKING = {
    "mrr": "MRR",
    "ndcg": "NDCG",
    "mean_rank": "mean rank",
    "median_rank": "median rank",
}
_TRUTH = {
    "truth": "F1 of claims",
    "truth_precision": "precision of claims",
    "truth_recall": "recall of facts",
    "truth_weighted_recall": "weighted recall of facts",
    "truth_utility": "questions answered",
    "utility": "gain of a reader",
    "utility_accuracy": "answers of a reader",
    "utility_without": "answers without a caption",
    "utility_mean_rank": "mean rank of answers",
}
_LANGUAGE = {
    "repeat_rate": "a word twice in a row",
    "repeated_bigram_rate": "a bigram twice",
    "unfinished_rate": "unfinished",
    "novel_bigrams": "new bigrams",
    "novel_trigrams": "new trigrams",
    "private_language": "own less held-out recall@10",
}
_OTHERS = _TRUTH | _LANGUAGE | {"clip_score": "CLIPScore"}
#: Scores of captions that papers rarely report.
_DETAILS = {
    *_LANGUAGE,
    *"bleu_1 bleu_2 bleu_3 bad_ending_rate distinct_captions".split(),
    *"mean_length novelty repeated_bigrams repeated_trigrams".split(),
    *"self_bleu vocabulary_size".split(),
}
_PREFIXES = (
    *("train_", "training_", "val_", "valid_", "validation_", "test_"),
    *("eval_", "dev_", "human_", "fixed_", "unseen_", "image_to_text_"),
    *("first_", "beam_", "greedy_", "strangers_"),
)
_LISTENERS = ("strangers_", "fixed_", "unseen_")
#: Held-out listeners that are offered first.
_FAIREST = ("strangers ", "fixed ")
#: Prefixes that follow the metric in its title.
_AFTER = {
    "strangers ": "held-out listeners",
    "fixed ": "fixed listener",
    "unseen ": "unseen listener",
    "beam ": "beam search",
    "greedy ": "greedy",
}
#: Other spellings of known names.
_SPELLINGS = {
    "ciderd": "cider_d",
    "rougel": "rouge_l",
    **{f"bleu{order}": f"bleu_{order}" for order in (1, 2, 3, 4)},
}
#: Recall at a rank, also as writers clean its name.
_CUTOFF = re.compile(r"(?<![^_])(?:r|recall)(?:@|_at_|_)(\d+)(?![^_])")
_RECALL = re.compile(r"r@(\d+)$")
#: Recall by one of several listeners, as `strangers_r@10_recurrent`.
_ONE_OF_SEVERAL = re.compile(r"r@(\d+)_(\w+)$")
#: Recall by a listener of any name.
_LISTENER = re.compile(r"(\w+?)_((?:image_to_text_)?r@\d+)$")
#: Metrics of which less is better.
_LOWER = ("mean_rank", "median_rank", "utility_mean_rank", *_LANGUAGE)


@dataclass(frozen=True)
class Metric:
    """A metric of points.

    Args:
        name: String, its name in points.
        better: `"higher"`, `"lower"` or `"unknown"`.
        role: `"naturalness"`, `"recall"` or `"other"`.
        featured: Integer, its place from 1 among the metrics that HParams are
            configured to show. Defaults to `0`: not among them.
    """

    name: str
    title: str
    better: str = "unknown"
    role: str = "other"
    featured: int = 0

    @property
    def sign(self):
        """1 where more is better, -1 where less is, 0 where it is unknown."""
        return {"higher": 1, "lower": -1}.get(self.better, 0)


def named_metric(name, title=None, better=None, role=None):
    """Makes a metric; its name tells what is not given.

    Usual measures are known by their names, in any case and below any folder;
    the direction of others follows from the words of their names.

    Args:
        name: String.
        title: String, optional.
        better: `"higher"` or `"lower"`, optional.
        role: `"naturalness"`, `"recall"` or `"other"`, optional.

    Returns:
        `Metric`.

    Raises:
        ValueError: If `better` or `role` has another value.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import metric_names
    >>> metric = metric_names.named_metric("human_r@10")
    >>> metric.title, metric.better, metric.role
    ('human recall@10', 'higher', 'recall')
    >>> metric_names.named_metric("mean_rank").better
    'lower'
    >>> metric_names.named_metric("fixed_r@10").title
    'recall@10, fixed listener'
    """
    if better not in (None, *DIRECTIONS) or role not in (None, *ROLES):
        raise ValueError(
            f"`better` must be one of {', '.join(DIRECTIONS)}, `role` one of "
            f"{', '.join(ROLES)}. Received: better={better!r}, role={role!r} "
            f"for {name!r}."
        )
    words, base = _split(name)
    prefix, after = _told(words)
    if base in _NATURAL:
        known = _NATURAL[base], "naturalness"
    elif base in _RANKING:
        known = _RANKING[base], "recall"
    elif match := _RECALL.match(base):
        known = f"recall@{match[1]}", "recall"
    elif match := _ONE_OF_SEVERAL.match(base):
        known = f"recall@{match[1]} of {match[2].replace('_', ' ')}", "recall"
    elif base in _OTHERS:
        known = _OTHERS[base], "other"
    else:
        known, prefix, after = (name, "other"), "", ""
    if known[0] == name:
        usual = direction(name)
    else:
        usual = "lower" if base in _LOWER else "higher"
    return Metric(
        name,
        title or prefix + known[0] + after,
        better or usual,
        role or known[1],
    )


def metric_order(metric):
    """Sorting key of metrics: naturalness, recall, then others."""
    known = [*_NATURAL, *_RANKING]
    prefix, base = _split(metric.name)
    place = known.index(base) if base in known else len(known)
    match = _RECALL.match(base)
    if match:
        place = len(_NATURAL) - 1 / (1 + int(match[1]))
    listener = metric.role == "recall" and is_other_listener(metric.name)
    fair = [*_FAIREST, prefix].index(prefix)
    pool = (not listener, fair, prefix != "", prefix)
    return ROLES.index(metric.role), pool, place, metric.name


def is_other_listener(name):
    """Check whether a metric is of another listener than the speaker's own.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import metric_names
    >>> names = "fixed_r@10", "mine_r@10", "r@10", "human_r@10", "beam_r@10"
    >>> [name for name in names if metric_names.is_other_listener(name)]
    ['fixed_r@10', 'mine_r@10']
    """
    words, _ = _split(name)
    return bool(words) and not _without_listener(words)


def metric_pool(name):
    """Words before a metric's name, such as `"human "`."""
    return _split(name)[0]


def own_pool(name):
    """Words before a metric's name without those of its listener.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import metric_names
    >>> metric_names.own_pool("beam_fixed_r@1")
    'beam '
    """
    return _without_listener(_split(name)[0])


def listener_of(name):
    """Listener of a metric by its name, `""` for the speaker's own.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import metric_names
    >>> names = "beam_strangers_r@1", "my_clip_r@1", "val/r@1"
    >>> [metric_names.listener_of(name) for name in names]
    ['strangers', 'my_clip', '']
    """
    words = _split(name)[0].rpartition("/")[2]
    tokens = words.split()
    for token in _without_listener(words).split():
        tokens.remove(token)
    return " ".join(tokens)


def listener_title(name):
    """Title of the listener of a metric.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import metric_names
    >>> names = "strangers_r@1", "my_clip_r@1", "r@1"
    >>> [metric_names.listener_title(name) for name in names]
    ['held-out listeners', 'my_clip listener', 'own listener']
    """
    listener = listener_of(name) or "own"
    return _AFTER.get(f"{listener} ", f"{listener} listener")


def grouped_name(name):
    """A metric's name below a group, unless it is among the first to look at.

    TensorBoard groups cards by what stands before a slash.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import metric_names
    >>> names = "r@1", "fixed_r@1", "fixed_mrr", "human_first_r@1", "bleu_1"
    >>> [metric_names.grouped_name(name) for name in names]
    ['r@1', 'fixed_r@1', 'fixed/mrr', 'human_first/r@1', 'language/bleu_1']
    """
    words, base = _split(name)
    if "/" in name or (is_other_listener(name) and recall_at(name)):
        return name
    if words:
        group = words.strip().replace(" ", "_")
        return f"{group}/{name[len(words) :]}"
    return f"language/{name}" if base in _DETAILS else name


def bare_name(name):
    """A metric's name without its folder, decoding, split and listener.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import metric_names
    >>> names = "val/recall_at_10", "beam_strangers_r@10", "beam_CIDErD"
    >>> [metric_names.bare_name(name) for name in names]
    ['r@10', 'r@10', 'cider_d']
    """
    return recall_at(name) or _split(name)[1]


def recall_at(name):
    """A recall as `"r@10"`, or `""` for another metric."""
    match = _RECALL.match(_split(name)[1])
    return f"r@{match[1]}" if match else ""


def _split(name):
    """Splits a name into its folder and prefixes, as words, and the rest."""
    folder, slash, base = name.rpartition("/")
    if folder and f"{base.lower()}_" in _PREFIXES:
        # As users of PyTorch write it: `r@10/val`.
        above, _, folder = folder.rpartition("/")
        folder, base = f"{above}/{base}".strip("/"), folder
    base, words = re.sub("[- ]", "_", base.lower()), folder + slash
    base = _CUTOFF.sub(r"r@\1", base)
    while prefix := next((p for p in _PREFIXES if base.startswith(p)), None):
        base = base.removeprefix(prefix)
        words += prefix.replace("_", " ")
    if match := _LISTENER.match(base):
        turned, base = match[2].startswith("image"), match[2]
        base = base.removeprefix("image_to_text_")
        words += f"{match[1]} " + ("image to text " if turned else "")
    return words, _SPELLINGS.get(base, base)


def _told(words):
    """Texts before and after a metric in its title."""
    folder, slash, before = words.rpartition("/")
    after = ""
    for word, text in _AFTER.items():
        if _has(before, word):
            before, after = before.replace(word, ""), f"{after}, {text}"
    own = before.replace(_without_listener(before), "", 1)
    if own:
        before = before.replace(own, "")
        after = f", {own.strip()} listener{after}"
    return folder + slash + before, after


def _without_listener(words):
    """The folder and the words before a name that name no listener."""
    folder, slash, words = words.rpartition("/")
    known = [p.replace("_", " ") for p in _PREFIXES if p not in _LISTENERS]
    matches = [word for word in known if _has(words, word)]
    return folder + slash + "".join(sorted(matches, key=words.index))


def _has(words, word):
    """Check whether a text has a word, not as the end of another."""
    return f" {word}" in f" {words}"
