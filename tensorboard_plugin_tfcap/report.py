"""The trade-off of a log in one file, or in a notebook.

    tfcap-report LOGDIR -o report.html

The file needs nothing else, not even a network.
"""

import argparse
import os
import sys
from dataclasses import replace

from tensorboard.context import RequestContext

from tensorboard_plugin_tfcap.dataset import default_axes
from tensorboard_plugin_tfcap.dataset import presented
from tensorboard_plugin_tfcap.figure_view import figure_view
from tensorboard_plugin_tfcap.figure_view import said_figure
from tensorboard_plugin_tfcap.html_page import write_html
from tensorboard_plugin_tfcap.log import ALL
from tensorboard_plugin_tfcap.log import Log
from tensorboard_plugin_tfcap.metadata import PLUGIN_NAME
from tensorboard_plugin_tfcap.query import CHECKPOINTS
from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.report_parts import STYLE
from tensorboard_plugin_tfcap.report_parts import figures_html
from tensorboard_plugin_tfcap.report_parts import samples_html
from tensorboard_plugin_tfcap.report_parts import table_html
from tensorboard_plugin_tfcap.selection import select
from tensorboard_plugin_tfcap.sources import Sources
from tensorboard_plugin_tfcap.table_view import area_table
from tensorboard_plugin_tfcap.table_view import level_tables
from tensorboard_plugin_tfcap.table_view import rows_table

#: Metrics of each axis that a report can be turned to.
_AXES = 6


def read_log(logdir) -> Log:
    """A log directory, read at once and whole.

    Raises:
        ValueError: If there is no such folder.
    """
    # Imported here: it may load TensorFlow, which takes a while.
    from tensorboard.backend.event_processing import data_provider
    from tensorboard.backend.event_processing import plugin_event_multiplexer

    path = os.fspath(logdir)
    if not os.path.isdir(path):
        raise ValueError(
            f"`logdir` must be a folder. Received: logdir={path!r}."
        )
    guidance = dict.fromkeys(("tensors", "images", "audio", "histograms"), ALL)
    # Of what is drawn, all: 0 is no limit.
    kept = {PLUGIN_NAME: 0, "scalars": 0}
    multiplexer = plugin_event_multiplexer.EventMultiplexer(
        tensor_size_guidance=kept, size_guidance={**guidance, "scalars": 0}
    )
    multiplexer.AddRunsFromDirectory(path)
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, path)
    return Log(provider, RequestContext(), "", kept)


def write_report(path, logdir, comparison=None, **options):
    """Writes figures, tables and captions of a log as one page.

    Raises:
        ImportError: If Plotly is not installed.
        ValueError: If there is nothing to draw.
    """
    query = Query(**{"value": "auto", **options})
    log = read_log(logdir)
    source = Sources(log).chosen(query.source)
    dataset = presented(source.dataset(query), comparison)
    selection = select(dataset, query)
    if selection.x is None or not selection.curves:
        raise ValueError(
            "`logdir` must hold points with two metrics. Received: "
            f"logdir={os.fspath(logdir)!r}, with {len(dataset.points)} "
            "points. Write them with `TradeoffWriter`, or choose another "
            "source."
        )
    figures = _figures(dataset, query)
    view = figure_view(selection)
    tables = [
        *level_tables(selection, selection.line()).values(),
        *[area_table(selection)] * selection.joined,
        rows_table(view, selection),
    ]
    body = [
        *figures_html(figures),
        *map(table_html, tables),
        *samples_html(log, view["rows"]),
    ]
    runs = f"{len(dataset.points)} runs of {os.fspath(logdir)}"
    write_html(path, "Trade-off", [runs, *selection.notices], body, STYLE)


def main(argv: list[str] | None = None) -> int:
    """Runs the command `tfcap-report`."""
    parser = argparse.ArgumentParser(
        prog="tfcap-report",
        description="Trade-off curves of a log in one file, to look around in.",
    )
    parser.add_argument("logdir", help="as TensorBoard takes it")
    parser.add_argument("-o", "--out", default="report.html", metavar="FILE")
    for name in ("x", "y", "order", "runs", "by", "source", "group"):
        parser.add_argument(f"--{name}", help="as in TensorBoard")
    parser.add_argument("--at", choices=CHECKPOINTS)
    for name in ("higher", "lower", "hide"):
        parser.add_argument(
            f"--{name}",
            action="append",
            metavar="METHOD" if name == "hide" else "METRIC",
            help="not shown; may be repeated"
            if name == "hide"
            else f"{name} is better; may be repeated",
        )
    parser.add_argument(
        "--comparison", metavar="FILE", help="titles, presets and references"
    )
    options = vars(parser.parse_args(argv))
    path, logdir = options.pop("out"), options.pop("logdir")
    try:
        given = {k: v for k, v in options.items() if v is not None}
        for name in ("higher", "lower", "hide"):
            given[name] = tuple(given.get(name, ()))
        write_report(path, logdir, **given)
    except (ImportError, OSError, ValueError) as error:
        print(f"tfcap-report: {error}", file=sys.stderr)
        return 2
    print(path)
    return 0


def _figures(dataset, query):
    """Figures by title: pairs of axes, and presets that can be drawn."""
    first = [query.x, query.y]
    if None in first:
        first = [a or b for a, b in zip(first, default_axes(dataset.metrics))]
    metrics = dataset.metrics
    across = _alike(metrics, first[0])
    up = _alike(metrics, first[1])
    figures = {}
    for y in up:
        for x in across:
            if x == y:
                continue
            asked = replace(query, x=x, y=y, value=None, preset=None)
            title = f"{metrics[y].title} against {metrics[x].title}"
            figures[title] = figure_view(select(dataset, asked))["figure"]
    for preset in dataset.comparison.presets.values():
        if not (preset.panels and preset.is_drawn_of(metrics)):
            continue
        asked = replace(query, preset=preset.id, x=None, y=None, value=None)
        try:
            figures[preset.title] = figure_view(select(dataset, asked))[
                "figure"
            ]
        except QueryError as error:
            figures[preset.title] = said_figure(str(error))
    return figures


def _alike(metrics, name):
    """Metrics of the same role, the named one first."""
    role = metrics[name].role
    others = [m.name for m in metrics.values() if m.role == role]
    return [name, *(other for other in others if other != name)][:_AXES]


if __name__ == "__main__":
    sys.exit(main())
