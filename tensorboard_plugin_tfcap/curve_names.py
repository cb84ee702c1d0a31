"""Curves named by chosen settings."""

from collections import defaultdict
from dataclasses import replace

from tensorboard_plugin_tfcap.tradeoff.point import parameter_texts

#: The method, among the settings that name a curve.
METHOD = "method"


def named_curves(points, names, order, titles=None):
    """Points of curves that differ in the named settings only.

    Runs that differ in any other setting than `order` count as repetitions:
    the setting becomes part of their seed, so that a seed is one combination
    along the whole curve, whichever runs are absent.

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
    [('k = 1', 'size = 3'), ('k = 1', 'size = 4'),
     ('k = 2', 'size = 3'), ('k = 2', 'size = 4')]
    """
    titles = titles or {}
    texts, varying = _texts(points)
    rest = [name for name in varying if name not in (order, *names)]
    several = METHOD not in names and len({p.method for p in points}) > 1
    named = []
    for point in points:
        title = titles.get(point.method, point.method)
        own = {name: texts[name][value] for name, value in point.params.items()}
        method = [title] if METHOD in names else []
        method += [own[name] for name in names if name in own]
        settings = [title] if method and several else []
        settings += [own[name] for name in rest if name in own]
        seed = point.seed
        if settings:
            last = [] if seed is None else [f"seed = {seed}"]
            seed = ", ".join([*settings, *last])
        named.append(
            replace(
                point,
                method=", ".join(method) or title,
                params={k: v for k, v in point.params.items() if k == order},
                seed=seed,
                title="",
            )
        )
    return numbered(named)


def _texts(points):
    """Texts by value, by parameter, and names of parameters that vary."""
    values = {}
    for point in points:
        for name, value in point.params.items():
            values.setdefault(name, []).append(value)
    varying = [
        name
        for name, found in values.items()
        if len(set(found)) > 1 or len(found) < len(points)
    ]
    texts = {n: parameter_texts(n, found) for n, found in values.items()}
    return texts, varying


def numbered(points):
    """Points whose seeds distinguish runs with equal settings."""
    found, counts = [], defaultdict(int)
    for point in points:
        params = tuple(sorted(point.params.items()))
        key = (point.method, point.seed, params)
        number, counts[key] = counts[key], counts[key] + 1
        seed = point.seed
        if number:
            seed = number if seed is None else f"{seed} #{number}"
        found.append(replace(point, seed=seed))
    return found
