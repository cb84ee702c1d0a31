"""The figure without TensorBoard and without a page."""

import math
from dataclasses import fields


def show_tradeoff(logdir, comparison=None, **options):
    """The figure of a log, to look around in, such as in a notebook.

    Args:
        logdir: String or path, as TensorBoard takes it.
        comparison: String or path of a file of JSON, which says how the log
            is presented. See `comparison.load_comparison()`. Optional.
        **options: Those of `query.Query`: `x` and `y`, metrics; `order`, a
            parameter; `runs`, a regular expression; `seeds`, `"interval"`,
            `"band"`, `"points"` or `"none"`; `at`, `"last"` or `"best"`;
            `preset`, one of the log; `refs`, `pareto`, `dark`; `along` and
            `value`, a line; `hide`, titles of methods; and so on.

    Returns:
        `plotly.graph_objects.Figure`. Where there is nothing to draw, it says
        so.

    Raises:
        ImportError: If Plotly is not installed.
        TypeError: If there is no such option.
        ValueError: If there is no such folder or metric.

    Example:

    >>> import tempfile
    >>> from tensorboard_plugin_tfcap.summary import TradeoffWriter
    >>> folder = tempfile.mkdtemp()
    >>> with TradeoffWriter(folder, "mine") as writer:
    ...     writer.point(0, {"cider_d": 1.1, "r@10": 70.0})
    >>> figure = tfcap.show_tradeoff(folder)
    >>> figure.data[0].name, figure.layout.xaxis.title.text
    ('mine', 'CIDEr-D \u2191')
    """
    # Imported here: who trains need not draw.
    import plotly.graph_objects as go

    from tensorboard_plugin_tfcap.dataset import presented
    from tensorboard_plugin_tfcap.figure_view import figure_view
    from tensorboard_plugin_tfcap.query import Query
    from tensorboard_plugin_tfcap.report import read_log
    from tensorboard_plugin_tfcap.selection import select
    from tensorboard_plugin_tfcap.sources import Sources

    known = [field.name for field in fields(Query)]
    wrong = sorted(set(options) - set(known))
    if wrong:
        raise TypeError(
            f"`options` must be of {', '.join(known)}. Received: "
            f"{', '.join(wrong)}."
        )
    query = Query(**options)
    source = Sources(read_log(logdir)).chosen(query.source)
    dataset = presented(source.dataset(query), comparison)
    selected = select(dataset, query)
    figure = figure_view(selected)["figure"]
    meta, methods = figure["layout"]["meta"], selected.groups
    # The axes' share of it is that for which labels were set apart.
    height = meta["height"] or 540 + 22 * math.ceil(len(methods) / 4)
    layout = {**figure["layout"], "height": height}
    return go.Figure({"data": figure["data"], "layout": layout})
