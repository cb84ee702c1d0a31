"""Marks in the colors of a parameter's values, with a bar that tells them."""

import math
from dataclasses import dataclass
from itertools import chain

import numpy as np

from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.tradeoff.colors import between
from tensorboard_plugin_tfcap.tradeoff.plotly_text import marked
from tensorboard_plugin_tfcap.tradeoff.point import is_number
from tensorboard_plugin_tfcap.tradeoff.point import parameter_title
from tensorboard_plugin_tfcap.tradeoff.point import value_text
from tensorboard_plugin_tfcap.tradeoff.style import DARK
from tensorboard_plugin_tfcap.tradeoff.style import LIGHT
from tensorboard_plugin_tfcap.tradeoff.style import known_titles
from tensorboard_plugin_tfcap.tradeoff.style import on_paper
from tensorboard_plugin_tfcap.tradeoff.style import style

#: From the least value to the greatest, on either paper: ever lighter.
_STOPS = {
    False: ("#0d0887", "#46039f", "#7201a8", "#9c179e", "#bd3786", "#e0604f"),
    True: ("#cf72dd", "#e0708a", "#ed7953", "#fb9f3a", "#fdca26", "#f0f921"),
}
#: Numbers that span more than this are on a logarithmic scale.
_SPAN = 50.0


@dataclass(frozen=True)
class ColorScale:
    """Colors of a parameter's values.

    Args:
        parameter: String.
        values: List of those that marks have.
        dark: Boolean.
    """

    parameter: str
    values: list
    dark: bool = False

    @property
    def continuous(self):
        """Boolean, whether all values are numbers."""
        return all(map(is_number, self.values))

    @property
    def logarithmic(self):
        """Boolean, whether powers of ten are evenly spaced."""
        if not self.continuous or min(self.values) < 0:
            return False
        positive = [value for value in self.values if value > 0]
        return bool(positive) and max(positive) > _SPAN * min(positive)

    @property
    def title(self):
        """The parameter, and how its numbers are spaced."""
        title = parameter_title(self.parameter)
        if not self.logarithmic:
            return title
        return f"{title} (log scale{'' if min(self.values) else ', 0 below'})"

    def color(self, value):
        """The color of a value; gray where it is `None`."""
        if value is None:
            return (DARK if self.dark else LIGHT).quiet
        if not self.continuous:
            return on_paper(style(value_text(value), self._words)[0], self.dark)
        low, high = self._place(min(self.values)), self._place(max(self.values))
        share = (self._place(value) - low) / ((high - low) or 1.0)
        return between(_STOPS[self.dark], share)

    def traces(self):
        """Traces of the scale: a color bar, or an entry for each word."""
        usual = {
            "type": "scatter",
            "mode": "markers",
            **{"x": [None], "y": [None], "hoverinfo": "skip"},
            "meta": {"kind": "scale"},
        }
        if not self.continuous:
            for word in self._words:
                marker = {"color": self.color(word), "size": 8}
                name = marked(f"{self.title} = {word}")
                yield {**usual, "name": name, "marker": marker}
            return
        stops = _STOPS[self.dark]
        ends = [self._place(f(self.values)) for f in (min, max)]
        known = sorted(set(self.values))
        if len(known) > 8:
            places = np.linspace(0, len(known) - 1, 7).round().astype(int)
            known = [known[place] for place in places]
        bar = {
            "title": {"text": marked(self.title), "side": "right"},
            "tickvals": [self._place(value) for value in known],
            "ticktext": [value_text(value) for value in known],
            **{"thickness": 12, "outlinewidth": 0, "len": 0.9},
        }
        marker = {
            "color": [ends[0]],
            **{"cmin": ends[0], "cmax": ends[1]},
            "colorscale": [
                [i / (len(stops) - 1), stop] for i, stop in enumerate(stops)
            ],
            **{"showscale": True, "colorbar": bar},
        }
        yield {**usual, "showlegend": False, "marker": marker}

    @property
    def _words(self):
        return known_titles(map(value_text, self.values))

    def _place(self, value):
        if not self.logarithmic:
            return float(value)
        if value == 0:
            return math.log10(min(v for v in self.values if v > 0)) - 0.5
        return math.log10(value)


def paint(figure, panels, members, query, known, settings) -> dict:
    """Gives marks the colors of a parameter's values.

    Args:
        figure: Dict of `data` and `layout`, which is changed.
        members: List of dicts, by title, of dicts of lists of points by
            place, one a panel.
        known: `KnownTitles`; what is out of its focus stays gray.
        settings: Dict of all parameters by run.

    Returns:
        Dict of lists of colors by pairs of a panel and a title, without those
        of hidden methods.

    Raises:
        QueryError: If no run has the parameter.
    """
    parameter, dark = query.color_by, query.dark
    values = {
        (number, line.title): [
            _shared(
                members[number].get(line.title, {}).get(float(place), ()),
                *(parameter, settings),
            )
            for place in line.places
        ]
        for number, panel in enumerate(panels)
        for line in panel.lines
    }
    shown = {k: v for k, v in values.items() if k[1] not in query.hide}
    there = [v for some in shown.values() for v in some if v is not None]
    if not there and any(v is not None for v in chain(*values.values())):
        # Of hidden methods, nothing is on a scale.
        return {}
    if not there:
        raise QueryError(
            "`color_by` must be a parameter of the runs that are drawn. "
            f"Received: color_by={parameter!r:.80}."
        )
    scale = ColorScale(parameter, there, dark)
    quiet = (DARK if dark else LIGHT).quiet
    colors = {
        key: [scale.color(value) for value in some]
        for key, some in shown.items()
        if not known.focus or key[1] in known.focus
    }
    axes = {panel: "" if panel == 0 else panel + 1 for panel, _ in values}
    places = {f"x{axes[panel]}": panel for panel, _ in values}
    for trace in figure["data"]:
        key = places.get(trace.get("xaxis")), trace.get("legendgroup")
        if key not in colors:
            continue
        (line, *others) = dict.fromkeys(colors[key])
        line = quiet if others else line
        _repaint(trace, colors[key], line, (DARK if dark else LIGHT).ink)
    figure["data"] += [
        {**trace, "xaxis": "x", "yaxis": "y"} for trace in scale.traces()
    ]
    legend = figure["layout"]["legend"]["title"]
    legend["text"] = f"{legend['text']} Colors: {marked(scale.title)}.".strip()
    return colors


def _repaint(trace, colors, line, ink):
    kind = trace["meta"]["kind"]
    if kind == "curve":
        trace["marker"] = {**trace["marker"], "color": colors}
        for name in ("error_x", "error_y"):
            if name in trace:
                trace[name] = {**trace[name], "color": line}
    if kind == "label":
        # Of no method's color, where that is another thing's.
        trace["textfont"] = {**trace["textfont"], "color": ink}
    if kind in ("curve", "band", "seed"):
        trace["line"] = {**trace["line"], "color": line}
    if kind == "band":
        trace["fillcolor"] = line


def _shared(points, parameter, settings):
    """The value that all runs of a mark have, or `None`."""
    values = {
        settings.get(point.run, point.params).get(parameter) for point in points
    }
    return values.pop() if len(values) == 1 else None
