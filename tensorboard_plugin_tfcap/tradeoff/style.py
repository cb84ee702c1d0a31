"""Looks of methods, the same in every figure."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """Colors that a figure is drawn on.

    Args:
        quiet: String, of what stands back.
    """

    paper: str
    ink: str
    grid: str
    quiet: str


LIGHT = Palette("#ffffff", "#1c2024", "#e3e6ea", "#5f666d")
DARK = Palette("#1f2328", "#e8eaed", "#3a4047", "#a0a7af")
#: Colors that are too dim on dark paper, and what is drawn there.
_BRIGHTER = {"#0072B2": "#4DA3E0", "#333333": "#D0D3D7", "#7A3E9D": "#B57EDC"}


def on_paper(color, dark):
    """A method's color, which is seen on dark paper, too."""
    return _BRIGHTER.get(color, color) if dark else color


#: Colors that color-blind people tell apart (Okabe and Ito).
COLORS = (
    "#0072B2",
    "#56B4E9",
    "#D55E00",
    "#E69F00",
    "#999999",
    "#8A6D3B",
    "#009E73",
    "#CC79A7",
    "#7A3E9D",
    "#333333",
)
#: A marker as Matplotlib and as Plotly calls it.
MARKERS = (
    ("o", "circle"),
    ("s", "square"),
    ("^", "triangle-up"),
    ("D", "diamond"),
    ("v", "triangle-down"),
    ("P", "cross"),
    ("X", "x"),
)
#: Lines of the second round of colors and on.
DASHES = (("-", "solid"), ("--", "dash"), (":", "dot"), ("-.", "dashdot"))
#: How to read the figure.
LEGEND = (
    "Markers: weights \u03bb, joined in their order; a hollow one lacks seeds. "
    "Thin: each seed by itself; thick: their mean. Bars: 95 % interval."
)


#: An addition to a title, such as the folder of a sweep.
_ADDITION = re.compile(r" \([^()]*\)$")


def style(title: str, known=()):
    """Look of a method, the same in every figure.

    Args:
        title: Of a method. What follows a comma, or stands in parentheses at
            its end, tells apart curves of one method.
        known: Titles, whose places give their colors and markers; another
            title takes the place after them. See `known_titles()`.

    Returns:
        Color, and the names of its marker and dash in Matplotlib and Plotly.
    """
    known = list(known)
    base = _known_base(title, known)
    place = len(known) if base is None else known.index(base)
    added = base is not None and _ADDITION.search(title.removeprefix(base))
    turn = place // len(COLORS) + bool(added)
    return (
        COLORS[place % len(COLORS)],
        MARKERS[place % len(MARKERS)],
        DASHES[turn % len(DASHES)],
    )


def known_titles(titles, known=()) -> tuple[str, ...]:
    """Titles with a place for every method: `known`, then others by name."""
    known = tuple(known)
    others = {_bases(t)[-1] for t in titles if _known_base(t, known) is None}
    return *known, *sorted(others)


def styles(titles, known=()):
    """Looks of the curves of one figure, no two of them alike.

    Args:
        titles: Iterable of strings. Of curves that would look the same, all
            but the first have another marker and dash.
        known: Titles whose places come first, see `known_titles()`.

    Returns:
        Dict of what `style()` returns, by title.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.style import styles
    >>> looks = styles(["mine, k = 1", "mine, k = 2", "yours"])
    >>> for color, (marker, _), (dash, _) in looks.values():
    ...     print(color, marker, dash)
    #0072B2 o -
    #0072B2 s --
    #56B4E9 s -
    """
    looks, titles = {}, list(dict.fromkeys(titles))
    known = known_titles(titles, known)
    for title in titles:
        color, marker, dash = style(title, known)
        turn = 0
        while (color, marker, dash) in looks.values() and turn < 28:
            turn += 1
            marker = MARKERS[(MARKERS.index(marker) + 1) % len(MARKERS)]
            dash = DASHES[(DASHES.index(dash) + 1) % len(DASHES)]
        looks[title] = color, marker, dash
    return looks


def _bases(title):
    """A title, and what is left of it without additions and settings."""
    base = title.split(", ")[0]
    return title, _ADDITION.sub("", title), base, _ADDITION.sub("", base)


def _known_base(title, known):
    return next((name for name in _bases(title) if name in known), None)
