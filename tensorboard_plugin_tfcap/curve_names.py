"""Curves that are named as asked for."""

from collections import defaultdict
from dataclasses import replace

from tensorboard_plugin_tfcap.tradeoff.point import parameter_text

#: Stands for the method among the names of a curve.
METHOD = "method"


def named_curves(points, names, order, titles=None):
    """Points of curves that are told apart by these settings alone.

    Runs that differ in another setting than these and `order` are repetitions
    of one another.

    Args:
        names: Parameters, and `"method"`, in the order of a curve's title.
        order: String, the parameter along a curve, or `None`.
        titles: Dict of titles by method. Defaults to none.

    Example:

    >>> from tensorboard_plugin_tfcap.curve_names import named_curves
    >>> from tensorboard_plugin_tfcap.tradeoff import TradeoffPoint
    >>> points = [
    ...     TradeoffPoint(f"{k}/{size}", "net", {"k": k, "size": size})
    ...     for k in (1, 2) for size in (3, 4)
    ... ]
    >>> found = named_curves(points, ["k"], None)
    >>> [(point.method, point.seed) for point in found]
    [('k = 1', 0), ('k = 1', 1), ('k = 2', 0), ('k = 2', 1)]
    """
    named, titles = [], titles or {}
    for point in points:
        title = titles.get(point.method, point.method)
        texts = [title] if METHOD in names else []
        texts += [
            parameter_text(name, point.params[name])
            for name in names
            if name in point.params
        ]
        params = {k: v for k, v in point.params.items() if k == order}
        method = ", ".join(texts) or title
        named.append(replace(point, method=method, params=params, title=""))
    return numbered(named, always=True)


def numbered(points, always=False):
    """Points whose seeds tell apart what would be the same point otherwise."""
    found, counts = [], defaultdict(int)
    for point in points:
        params = tuple(sorted(point.params.items()))
        key = (point.method, point.seed, params)
        number, counts[key] = counts[key], counts[key] + 1
        seed = point.seed
        if number or always:
            seed = number if seed is None else f"{seed} #{number}"
        found.append(replace(point, seed=seed))
    return found
