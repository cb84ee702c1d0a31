"""Order in which metrics of any log are offered as axes."""

import re

import numpy as np

_WORD = re.compile(r"[^\W_]+")
#: Words of metrics that tell how far a run is, not how good.
_PROGRESS = frozenset(
    "epoch epochs step steps iteration iterations iter time seconds sec "
    "duration eta memory count examples tokens batch batches progress".split()
)
#: Words, or pairs of words, of metrics that tell how a run is trained.
_SETTINGS = frozenset(
    "lr learning_rate hp_metric grad gradient gradients grad_norm momentum "
    "weight_decay gpu cpu".split()
)
_HELD_OUT = frozenset("val valid validation test eval evaluation dev".split())
_TRAINING = frozenset(("train", "training"))
_WHERE = _HELD_OUT | _TRAINING | _PROGRESS | {"hparam", "final"}


def is_bookkeeping(metric) -> bool:
    """Check whether a metric is bookkeeping: epochs, time, learning rates.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import axis_ranks
    >>> from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
    >>> names = "train/epoch_learning_rate", "hp_metric", "epoch_accuracy"
    >>> [axis_ranks.is_bookkeeping(named_metric(name)) for name in names]
    [True, True, False]
    """
    words = _words(metric)
    pairs = {"_".join(pair) for pair in zip(words, words[1:])}
    if _SETTINGS & ({*words} | pairs):
        return True
    return not metric.sign and bool(_PROGRESS & {*words[-1:]})


def axis_rank(metric):
    """Sorting key: held-out data first, bookkeeping last.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import axis_ranks
    >>> from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
    >>> names = "epoch", "train_loss", "val_loss", "val_acc", "hp_metric"
    >>> metrics = sorted(map(named_metric, names), key=axis_ranks.axis_rank)
    >>> [metric.name for metric in metrics]
    ['val_acc', 'val_loss', 'train_loss', 'hp_metric', 'epoch']
    """
    words = _words(metric)
    return (
        is_bookkeeping(metric),
        bool(_TRAINING & {*words}) - bool(_HELD_OUT & {*words}),
        not metric.sign,
        bool(_PROGRESS & {*words[-1:]}),
        "loss" in words,
    )


def widest(names, points) -> str:
    """The metric in which points differ most, the first one of equals.

    What counts is how far apart the middle half of the values is: of recalls
    at several ranks, some may be near 0 or 100 % for all methods.

    Args:
        names: List of metrics.
        points: List of `TradeoffPoint`.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import TradeoffPoint, axis_ranks
    >>> points = [
    ...     TradeoffPoint("run", "mine", metrics={"r@1": one, "r@10": ten})
    ...     for one, ten in ((40.0, 97.0), (50.0, 98.0), (60.0, 99.0))
    ... ]
    >>> axis_ranks.widest(["r@10", "r@1"], points)
    'r@1'
    """

    def spread(name):
        values = [p.metrics[name] for p in points if name in p.metrics] or [0]
        return np.subtract(*np.percentile(values, (75, 25)))

    return max(names, key=spread)


def kind(metric) -> frozenset:
    """The words of a metric without those of a split or of progress.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import axis_ranks
    >>> from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
    >>> names = "Accuracy/val", "hparam/accuracy", "train/epoch_accuracy"
    >>> {axis_ranks.kind(named_metric(name)) for name in names}
    {frozenset({'accuracy'})}
    """
    return frozenset(_words(metric)) - _WHERE


def _words(metric):
    return [word.lower() for word in _WORD.findall(metric.name)]
