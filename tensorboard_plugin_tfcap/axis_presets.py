"""Pairs of axes that belong together, by the names of metrics."""

from tensorboard_plugin_tfcap.comparison import Preset
from tensorboard_plugin_tfcap.tradeoff.axis_ranks import widest
from tensorboard_plugin_tfcap.tradeoff.metric_names import bare_name
from tensorboard_plugin_tfcap.tradeoff.metric_names import listener_of
from tensorboard_plugin_tfcap.tradeoff.metric_names import listener_title
from tensorboard_plugin_tfcap.tradeoff.metric_names import metric_order
from tensorboard_plugin_tfcap.tradeoff.metric_names import own_pool

_RECALL, _PRECISION = "truth_recall", "truth_precision"
#: Held-out listeners that are preferred.
_FAIREST = ("strangers", "fixed")
#: Words of metrics that are not of the speaker's captions by one listener.
_APART = ("human ", "image to text ")


def axis_presets(metrics, points=()) -> dict:
    """Presets of two axes that a log of such metrics offers.

    `truth` sets `truth_recall` against `truth_precision`, and `held_out` sets
    `r@K` of the own listener against that of a held-out one, at the K at which
    the held-out recalls of the points differ most; `beam_truth` and so on are
    those of other decodings or folders.

    Args:
        metrics: Dict of `Metric` by name.
        points: List of `TradeoffPoint`. Defaults to none: K is 10 if it can.

    Returns:
        Dict of `Preset` by id.

    Example:

    >>> from tensorboard_plugin_tfcap.axis_presets import axis_presets
    >>> from tensorboard_plugin_tfcap.tradeoff import named_metric
    >>> names = "r@10", "strangers_r@10", "beam_r@10", "truth_recall"
    >>> presets = axis_presets({name: named_metric(name) for name in names})
    >>> [(preset.id, preset.x, preset.y) for preset in presets.values()]
    [('held_out', 'strangers_r@10', 'r@10')]
    """
    pools = {}
    for metric in sorted(metrics.values(), key=metric_order):
        pool = own_pool(metric.name)
        if not any(word in pool for word in _APART):
            pools.setdefault(pool, []).append(metric.name)
    found = [
        preset
        for pool, names in pools.items()
        for preset in (_truth(pool, names), _held_out(pool, names, points))
        if preset is not None
    ]
    return {preset.id: preset for preset in found}


def _truth(pool, names):
    by_name = {bare_name(name): name for name in reversed(names)}
    if not {_RECALL, _PRECISION} <= by_name.keys():
        return None
    title = "Completeness against correctness"
    return _preset(pool, "truth", title, by_name[_PRECISION], by_name[_RECALL])


def _held_out(pool, names, points):
    recalls = {}
    for name in names:
        if bare_name(name).startswith("r@"):
            here = recalls.setdefault(bare_name(name), {})
            here.setdefault(listener_of(name), name)
    pairs = {k: v for k, v in recalls.items() if "" in v and len(v) > 1}
    if not pairs:
        return None
    ranks = sorted(pairs, key=lambda at: at != "r@10")
    others = [name for name in pairs[ranks[0]] if name]
    listener = min(others, key=[*_FAIREST, *others].index)
    heard = [pairs[at][listener] for at in ranks if listener in pairs[at]]
    x = widest(heard, points)
    title = f"Recall, own against {listener_title(x)}"
    return _preset(pool, "held_out", title, x, pairs[bare_name(x)][""])


def _preset(pool, name, title, x, y):
    words = pool.replace(" ", "_")
    about = pool.replace("beam ", "beam search ").strip(" /")
    title = f"{title}, {about}" if about else title
    return Preset(f"{words}{name}", title, x, y)
