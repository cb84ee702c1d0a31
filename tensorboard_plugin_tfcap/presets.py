"""Figures and tables of the paper, to ask for by name."""

from dataclasses import replace

from tensorboard_plugin_tfcap.dataset import QueryError

FIGURE_3 = "fig3"
#: Axes and lines of the paper's tables.
_LINES = {
    "table1": {"x": "cider_d", "y": "r@5", "along": "y", "value": 80.0},
    "table2": {"x": "cider_d", "y": "r@10", "along": "x", "value": 1.2},
}
_TITLES = {
    "table1": "Table 1: naturalness at recall@5 = 80 %",
    "table2": "Table 2: recall at CIDEr-D = 1.2",
}


def presets(metrics):
    """The presets that these metrics allow.

    Args:
        metrics: Dict of `Metric` by name.

    Returns:
        List of dicts, as a page shows them.

    Example:

    >>> from tensorboard_plugin_tfcap.presets import presets
    >>> [found["id"] for found in presets({"cider_d": 0, "r@10": 0})]
    ['fig3', 'table2']
    """
    found = []
    if "cider_d" in metrics and any(m.startswith("r@") for m in metrics):
        about = {"id": FIGURE_3, "title": "Figure 3 (a-f)", "panels": 6}
        found.append(about)
    found += [
        {"id": name, "title": _TITLES[name], **line}
        for name, line in _LINES.items()
        if line["x"] in metrics and line["y"] in metrics
    ]
    return found


def with_preset(query):
    """A query in which a preset has filled what was not asked for.

    Raises:
        QueryError: If there is no such preset.
    """
    name = query.preset
    if name in (None, "", "-", FIGURE_3):
        return query
    if name not in _LINES:
        raise QueryError(
            f"`preset` must be one of {FIGURE_3}, {', '.join(_LINES)}. "
            f"Received: preset={name!r:.40}."
        )
    usual = {
        key: value
        for key, value in _LINES[name].items()
        if getattr(query, key) is None
    }
    return replace(query, **usual)
