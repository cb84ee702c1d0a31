"""A log as the tab shows it, for files and notebooks."""

import os
from dataclasses import dataclass
from dataclasses import replace
from functools import cached_property

from tensorboard.context import RequestContext

from tensorboard_plugin_tfcap.asked import check_asked
from tensorboard_plugin_tfcap.asked import why_empty
from tensorboard_plugin_tfcap.dataset import presented
from tensorboard_plugin_tfcap.event_files import run_folders
from tensorboard_plugin_tfcap.figure_view import figure_view
from tensorboard_plugin_tfcap.log import ALL
from tensorboard_plugin_tfcap.log import Log
from tensorboard_plugin_tfcap.metadata import PLUGIN_NAME
from tensorboard_plugin_tfcap.options import asked_query
from tensorboard_plugin_tfcap.options import whole_query
from tensorboard_plugin_tfcap.selection import Selection
from tensorboard_plugin_tfcap.selection import select
from tensorboard_plugin_tfcap.sources import Sources
from tensorboard_plugin_tfcap.table_view import area_table
from tensorboard_plugin_tfcap.table_view import level_tables
from tensorboard_plugin_tfcap.table_view import rows_table
from tensorboard_plugin_tfcap.tradeoff.level_tables import directions_note
from tensorboard_plugin_tfcap.tradeoff.plotly_text import unmarked
from tensorboard_plugin_tfcap.tradeoff.table import number


@dataclass(frozen=True)
class Shown:
    """A selection with its figure and tables."""

    selection: Selection

    @cached_property
    def view(self):
        """The answer that the tab gets."""
        return figure_view(self.selection)

    @cached_property
    def dark(self):
        """The figure with a dark background."""
        query = replace(self.selection.query, dark=True)
        return figure_view(replace(self.selection, query=query))["figure"]

    @property
    def title(self):
        """Title of the figure."""
        query = self.selection.query
        preset = self.selection.dataset.presets.get(query.preset)
        if preset is not None:
            free = preset.value is None or preset.value == query.value
            axes = (preset.x, preset.y) == (query.x, query.y)
            if preset.panels or (axes and free):
                return preset.title
        panel = self.view["panels"][0]
        bare = [panel[f"{a}_title"].rstrip(" \u2191\u2193") for a in "yx"]
        return " against ".join(bare)

    @cached_property
    def tables(self):
        """List of `TradeoffTable`: at the line, areas, and all points."""
        selection, tables = self.selection, []
        if len(self.view["panels"]) == 1 and selection.curves:
            tables = [*level_tables(selection, selection.line()).values()]
            if selection.joined:
                tables.append(area_table(selection))
        return [*tables, rows_table(self.view, selection)]

    @property
    def notices(self):
        """Sentences on what of the log is damaged or left out."""
        return self.selection.dataset.notices

    @property
    def note(self):
        """Note on how to read the figure, and of what it is."""
        view, metrics = self.view, self.selection.dataset.metrics
        legend = view["figure"]["layout"].get("legend", {}).get("title", {})
        rows = [row for row in view["rows"] if not row["hidden"]]
        counts = {row["seeds"] for row in rows if row["seeds"]}
        parts = [unmarked(legend.get("text", ""))]
        if counts:
            ends = dict.fromkeys((min(counts), max(counts)))
            plural = "" if max(counts) == 1 else "s"
            parts.append(f"{' to '.join(map(str, ends))} seed{plural} each.")
        names = [panel[a] for panel in view["panels"] for a in "yx"]
        known = [metrics[n] for n in dict.fromkeys(names) if n in metrics]
        if known:
            parts.append(directions_note(known))
        if view["line"] is not None:
            held = self.selection.held_axes()[0]
            parts.append(
                f"Line: {held.title} = {number(view['line']['value'])}."
            )
        return " ".join(filter(None, parts))

    def plotly(self, dark=False) -> dict:
        """The figure with a height and without hidden methods.

        Returns:
            Dict of `data` and `layout`.
        """
        figure = self.dark if dark else self.view["figure"]
        data = [t for t in figure["data"] if t.get("visible", True) is True]
        lines = -(-len(self.view["methods"]) // 4)
        height = figure["layout"]["meta"]["height"] or 540 + 22 * lines
        return {"data": data, "layout": {**figure["layout"], "height": height}}


def read_log(logdir) -> Log:
    """Reads a whole log directory.

    Raises:
        ValueError: If there is no such folder.
    """
    # Imported here, since it may import TensorFlow, which is slow.
    from tensorboard.backend.event_processing import data_provider
    from tensorboard.backend.event_processing import plugin_event_multiplexer

    path = os.fspath(logdir)
    if not os.path.isdir(path):
        raise ValueError(
            f"`logdir` must be a folder. Received: logdir={path!r}."
        )
    guidance = dict.fromkeys(("tensors", "images", "audio", "histograms"), ALL)
    # 0 keeps all records of what is drawn.
    kept = {PLUGIN_NAME: 0, "scalars": 0}
    multiplexer = plugin_event_multiplexer.EventMultiplexer(
        tensor_size_guidance=kept, size_guidance={**guidance, "scalars": 0}
    )
    for folder, _ in run_folders(path):
        # The slash marks a folder named like an event file.
        name = os.path.relpath(folder, path)
        multiplexer.AddRun(os.path.join(folder, ""), name)
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, path)
    return Log(provider, RequestContext(), "", kept)


def shown_of(log, logdir, comparison=None, options=()) -> Shown:
    """Shows what options ask for of a log.

    Args:
        logdir: Path of the log.
        comparison: Path of a JSON file that says how it is presented.
        options: Dict of those of `options.asked_query()`.

    Raises:
        TypeError: If there is no such option.
        ValueError: If there is no such metric, method or parameter, or
            nothing to draw.
    """
    options = dict(options)
    query = asked_query(options)
    source = Sources(log).chosen(query.source)
    dataset = presented(source.dataset(query), comparison)
    query = whole_query(options, dataset.presets)
    selection = select(dataset, query)
    if selection.x is None or not (selection.curves or selection.preset()):
        name = os.path.basename(os.path.normpath(os.fspath(logdir)))
        raise ValueError(
            " ".join(
                [why_empty(selection, query), f"(Log: {name}.)", *log.damage]
            )
        )
    check_asked(selection, query)
    return Shown(selection)
