"""The trade-off curves of a log in one HTML file.

    tfcap-report LOGDIR -o report.html

The file contains everything that it shows, and needs no network.
"""

import argparse
import importlib.metadata
import os
import shlex
import sys
from dataclasses import replace
from datetime import UTC
from datetime import datetime

from tensorboard_plugin_tfcap.file_writer import check_place
from tensorboard_plugin_tfcap.html_page import write_html
from tensorboard_plugin_tfcap.options import add_options
from tensorboard_plugin_tfcap.options import command_words
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.report_parts import STYLE
from tensorboard_plugin_tfcap.report_parts import choice_html
from tensorboard_plugin_tfcap.report_parts import error_html
from tensorboard_plugin_tfcap.report_parts import samples_html
from tensorboard_plugin_tfcap.report_parts import scripts_html
from tensorboard_plugin_tfcap.report_parts import view_html
from tensorboard_plugin_tfcap.selection import select
from tensorboard_plugin_tfcap.shown import Shown
from tensorboard_plugin_tfcap.shown import read_log
from tensorboard_plugin_tfcap.shown import shown_of

#: How many metrics a report offers for each axis.
_AXES = 4


def write_report(path, logdir, comparison=None, **options):
    """Writes figures, tables and captions of a log as one page.

    Args:
        **options: Those of `query.Query`, as `show_tradeoff()` takes them.

    Returns:
        List of sentences about what is damaged or left out.

    Raises:
        TypeError: If there is no such option.
        ValueError: If there is nothing to draw, or no such metric.
        OSError: If the file cannot be written.
    """
    check_place(path)
    log = read_log(logdir)
    shown = shown_of(log, logdir, comparison, options)
    views = {shown.title: view_html(shown)}
    for title, other in _others(shown).items():
        if title not in views:
            views[title] = (
                error_html(other)
                if isinstance(other, QueryError)
                else view_html(other)
            )
    body = [
        "<main>",
        *choice_html(views),
        *samples_html(log, shown.view["rows"]),
        "</main>",
        *scripts_html(),
    ]
    lines = [*_origin(logdir, comparison, options, shown), *shown.notices]
    write_html(path, "Trade-off", lines, body, STYLE)
    return shown.notices


def main(argv: list[str] | None = None) -> int:
    """Runs the command `tfcap-report`."""
    parser = argparse.ArgumentParser(
        prog="tfcap-report",
        description="Writes the trade-off curves of a log into one HTML file.",
    )
    parser.add_argument("logdir", help="log directory, as for TensorBoard")
    parser.add_argument("-o", "--out", default="report.html", metavar="FILE")
    add_options(parser)
    parser.add_argument(
        "--comparison",
        metavar="FILE",
        help="JSON of titles and presets",
    )
    options = vars(parser.parse_args(argv))
    path, logdir = options.pop("out"), options.pop("logdir")
    try:
        given = {k: v for k, v in options.items() if v not in (None, ())}
        for notice in write_report(path, logdir, **given):
            print(f"tfcap-report: {notice}", file=sys.stderr)
    except (OSError, ValueError) as error:
        print(f"tfcap-report: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tfcap-report: interrupted.", file=sys.stderr)
        return 130
    print(path)
    return 0


def _origin(logdir, comparison, options, shown):
    """Sentences about the origin of a report."""
    name = os.path.basename(os.path.abspath(os.fspath(logdir)))
    words = ["tfcap-report", name, *command_words(options)]
    if comparison:
        words += ["--comparison", os.path.basename(os.fspath(comparison))]
    count = len(shown.selection.dataset.points)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    try:
        version = importlib.metadata.version("tfcap")
    except importlib.metadata.PackageNotFoundError:
        version = "(not installed)"
    yield f"{count} runs of the log directory {name}."
    yield f"Made on {now} by tfcap {version}: {shlex.join(words)}"


def _others(shown):
    """Other figures by title: presets, and other pairs of axes."""
    selection = shown.selection
    dataset, query = selection.dataset, selection.query
    others = {}
    for preset in dataset.presets.values():
        if not preset.is_drawn_of(dataset.metrics):
            continue
        asked = {"preset": preset.id, "value": None if preset.value else "auto"}
        asked |= dict.fromkeys(("x", "y", "along"))
        other = Shown(select(dataset, replace(query, **asked)))
        try:
            others[preset.title] = other.view and other
        except QueryError as error:
            others[preset.title] = error
    first = {"x": selection.x.name, "y": selection.y.name}
    held = query.along or "x"
    for y in _alike(dataset.metrics, first["y"]):
        for x in _alike(dataset.metrics, first["x"]):
            pair = {"x": x, "y": y}
            offered = any(
                (one.x, one.y, one.value) == (x, y, None)
                for one in dataset.presets.values()
            )
            if x == y or offered:
                continue
            if pair != first or selection.preset():
                asked = {**pair, "preset": None}
                if query.value is not None and pair[held] != first[held]:
                    asked["value"] = "auto"
                other = Shown(select(dataset, replace(query, **asked)))
                others.setdefault(other.title, other)
    return others


def _alike(metrics, name):
    """Metrics of the same role, the named one first."""
    role = metrics[name].role
    others = [m.name for m in metrics.values() if m.role == role]
    return [name, *(other for other in others if other != name)][:_AXES]


if __name__ == "__main__":
    sys.exit(main())
