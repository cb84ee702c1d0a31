"""Presentation of a comparison of methods: titles, presets, references.

It comes from the log, where `summary.write_comparison()` wrote it, or from a
JSON file.
"""

import json
import os
from dataclasses import dataclass
from dataclasses import field

from tensorboard_plugin_tfcap.metadata import LARGEST
from tensorboard_plugin_tfcap.metadata import MOST
from tensorboard_plugin_tfcap.metadata import VERSION
from tensorboard_plugin_tfcap.metadata import RecordError
from tensorboard_plugin_tfcap.metadata import finite_numbers
from tensorboard_plugin_tfcap.metadata import load_object
from tensorboard_plugin_tfcap.metadata import plain_parameters
from tensorboard_plugin_tfcap.metadata import short_text
from tensorboard_plugin_tfcap.tradeoff.point import Reference

#: Most panels of a preset.
_MOST_PANELS = 12


@dataclass(frozen=True)
class Preset:
    """A named figure: a pair of axes, a line across them, or several panels.

    Args:
        x: String, a metric. Optional; so are all below.
        along: `"x"` or `"y"`, the axis of the line.
        panels: Tuple of dicts: `title`, and `x`, a metric that `y` is drawn
            against; or `parameter`, against which `y` is drawn at the
            greatest level of `x` that all curves reach. There, `ends` names
            methods that stand for a value of the parameter: a dict, by
            method, of values by the other methods.
        usual: Dict of values by parameter: the one that the panels draw of a
            method that was run with several.
    """

    id: str
    title: str
    x: str | None = None
    y: str | None = None
    along: str | None = None
    value: float | None = None
    panels: tuple = ()
    usual: dict = field(default_factory=dict)

    def is_drawn_of(self, metrics):
        """Check whether a log with these metrics can draw it."""
        across = [p["x"] for p in self.panels] or [self.x]
        return self.y in metrics and any(x in metrics for x in across)

    def content(self):
        """The preset as a dict that JSON can hold."""
        about = {**vars(self), "panels": list(self.panels)}
        return {name: v for name, v in about.items() if v not in (None, [], {})}


@dataclass(frozen=True)
class Comparison:
    """Presentation of a log.

    Args:
        titles: Dict of titles by method, in the order of the legend.
        presets: Dict of `Preset` by id.
        references: List of `Reference`, published results that are drawn
            where they are asked for.
        data: String, the data set of the log's points, `""` where it is not
            stated.
    """

    titles: dict = field(default_factory=dict)
    presets: dict = field(default_factory=dict)
    references: list = field(default_factory=list)
    data: str = ""

    def fits(self, reference):
        """Check whether a published result may be of the log's data set."""
        both = {self.data.casefold(), reference.data.casefold()}
        return len(both - {""}) < 2

    def joined(self, other):
        """Merges two; this one takes precedence."""
        new = [r for r in other.references if r not in self.references]
        return Comparison(
            {**self.titles, **{**other.titles, **self.titles}},
            {**other.presets, **self.presets},
            [*self.references, *new],
            self.data or other.data,
        )


def load_comparison(path) -> Comparison:
    """Reads a JSON file that says how a log is presented.

    Raises:
        ValueError: If it is malformed.
        OSError: If there is no such file.

    Example:

    >>> import os, tempfile
    >>> from tensorboard_plugin_tfcap.comparison import load_comparison
    >>> path = os.path.join(tempfile.mkdtemp(), "comparison.json")
    >>> with open(path, "w") as file:
    ...     _ = file.write('{"titles": {"mine": "My method"}}')
    >>> load_comparison(path).titles
    {'mine': 'My method'}
    """
    with open(path, "rb") as file:
        content = file.read(LARGEST + 1)
    try:
        loaded = json.loads(content)
        if isinstance(loaded, dict):
            loaded.setdefault("version", VERSION)
        return read_comparison(json.dumps(loaded))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            "`path` must name a JSON file of titles, presets and references. "
            f"Received: path={os.fspath(path)!r}, which {error}. See "
            "`tensorboard_plugin_tfcap.summary.write_comparison()`."
        ) from error


def read_comparison(data) -> Comparison:
    """Reads a record of `write_comparison()`.

    Raises:
        RecordError: If it is malformed.
    """
    content = load_object(data)
    titles = content.get("titles", {})
    if not isinstance(titles, dict):
        raise RecordError("has titles that are not an object")
    titles = {
        short_text(method): short_text(title)
        for method, title in list(titles.items())[:MOST]
        if short_text(title)
    }
    presets = map(_preset, _objects(content, "presets"))
    return Comparison(
        titles,
        {preset.id: preset for preset in presets},
        list(map(_reference, _objects(content, "references"))),
        short_text(content.get("data")),
    )


def read_reference(data: bytes) -> Reference:
    """Reads a published result.

    Raises:
        RecordError: If it cannot be read.
    """
    return _reference(load_object(data))


def _objects(content, name):
    """The objects of a list, which may be absent."""
    items = content.get(name, [])
    if not isinstance(items, list):
        raise RecordError(f"has {name} that are not a list")
    if not all(isinstance(item, dict) for item in items):
        raise RecordError(f"has {name} that are not objects")
    return items[:MOST]


def _reference(content):
    metrics, _ = finite_numbers(content.get("metrics"))
    title = short_text(content.get("title"))
    if not title or not metrics:
        raise RecordError("has no title, or no metric")
    texts = [short_text(content.get(name)) for name in ("source", "data")]
    return Reference(title, metrics, *texts)


def _preset(content):
    texts = {n: short_text(content.get(n)) for n in ("id", "title", "x", "y")}
    panels = tuple(map(_panel, _objects(content, "panels")[:_MOST_PANELS]))
    if not (texts["id"] and texts["title"] and texts["y"]):
        raise RecordError("has a preset without an id, a title or `y`")
    if not (panels or texts["x"]):
        raise RecordError("has a preset with neither `x` nor panels")
    along = short_text(content.get("along")) or None
    if along not in (None, "x", "y"):
        raise RecordError("has a preset along neither 'x' nor 'y'")
    value = finite_numbers({"value": content.get("value")})[0].get("value")
    usual = plain_parameters(content.get("usual", {}))
    texts = {name: text or None for name, text in texts.items()}
    return Preset(**texts, along=along, value=value, panels=panels, usual=usual)


def _panel(content):
    texts = {n: short_text(content.get(n)) for n in ("title", "x", "parameter")}
    if not texts["x"]:
        raise RecordError("has a panel without `x`")
    ends = content.get("ends", {})
    ends = {
        short_text(method): finite_numbers(values)[0]
        for method, values in (ends if isinstance(ends, dict) else {}).items()
    }
    panel = {name: text for name, text in texts.items() if text}
    return {**panel, **({"ends": ends} if ends else {})}
