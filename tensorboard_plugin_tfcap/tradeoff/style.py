"""Styles of methods, the same in every figure."""

import re
from dataclasses import dataclass

from tensorboard_plugin_tfcap.tradeoff.colors import far_colors
from tensorboard_plugin_tfcap.tradeoff.colors import readable
from tensorboard_plugin_tfcap.tradeoff.colors import shade


@dataclass(frozen=True)
class Palette:
    """Colors of a figure.

    Args:
        quiet: String, of secondary text and lines.
    """

    paper: str
    ink: str
    grid: str
    quiet: str


class KnownTitles(tuple):
    """Titles of methods in the order of their styles.

    Args:
        titles: Iterable of strings.
        focus: Titles of methods that keep their colors while all others are
            gray. Defaults to none: all keep theirs.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.style import KnownTitles, style
    >>> known = KnownTitles(["mine", "yours"], ["mine"])
    >>> style("mine", known)[0], style("yours", known)[0]
    ('#0072B2', '#c3c9cf')
    """

    def __new__(cls, titles=(), focus=()):
        self = super().__new__(cls, titles)
        self.focus = frozenset(focus)
        return self


LIGHT = Palette("#ffffff", "#1c2024", "#e3e6ea", "#5f666d")
DARK = Palette("#1f2328", "#e8eaed", "#3a4047", "#a0a7af")
#: Colors that are too dim on dark paper, and their replacements.
_BRIGHTER = {"#0072B2": "#4DA3E0", "#333333": "#D0D3D7", "#7A3E9D": "#B57EDC"}


#: Backgrounds of labels: of a file, and of the dark page.
_PAPERS = {False: "#ffffff", True: "#393a3c"}
#: Color of methods out of focus.
FAINT = "#c3c9cf"
_FAINT_DARK = "#5a6067"


def on_paper(color, dark):
    """A method's color, visible also on dark paper."""
    if color == FAINT:
        return _FAINT_DARK if dark else FAINT
    color = _BRIGHTER.get(color, color) if dark else color
    return readable(color, _PAPERS[dark], 3.0 if dark else 2.0)


def text_color(color, dark):
    """A method's color for text, with a contrast of at least 4.5."""
    return readable(on_paper(color, dark), _PAPERS[dark])


#: Colors that color-blind people can distinguish (Okabe and Ito); further ones
#: are as far from these as possible.
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
#: Number of distinct colors; shades of them follow.
_MOST = 60
#: Names of markers in Matplotlib and Plotly.
MARKERS = (
    ("o", "circle"),
    ("s", "square"),
    ("^", "triangle-up"),
    ("D", "diamond"),
    ("v", "triangle-down"),
    ("P", "cross"),
    ("X", "x"),
)
#: Dashes of further rounds of colors.
DASHES = (("-", "solid"), ("--", "dash"), (":", "dot"), ("-.", "dashdot"))
#: How to read the figure.
LEGEND = (
    "Markers: weights \u03bb, joined in their order; a hollow one lacks seeds. "
    "Thin: each seed by itself; thick: their mean. Bars: 95 % interval."
)


#: An addition to a title, such as the folder of a sweep.
_ADDITION = re.compile(r" \([^()]*\)$")


def style(title: str, known=()):
    """Style of a method, the same in every figure.

    Args:
        title: String, of a method. What follows a comma, or is in parentheses
            at its end, distinguishes curves of one method.
        known: Titles, whose places determine their colors and markers; another
            title takes the place after them. See `known_titles()`.

    Returns:
        Color, and the names of its marker and dash in Matplotlib and Plotly.
    """
    base = _known_base(title, known)
    place = len(known) if base is None else [*known].index(base)
    added = base is not None and _ADDITION.search(title.removeprefix(base))
    turn = place // len(COLORS) + bool(added)
    turn_of_all, color = divmod(place, _MOST)
    color = shade(far_colors(COLORS, _MOST)[color], turn_of_all)
    look = MARKERS[place % len(MARKERS)], DASHES[turn % len(DASHES)]
    return _faint_or(color, title, known), *look


def _faint_or(color, title, known):
    """A method's color, or gray where it is out of focus."""
    focus = getattr(known, "focus", ())
    return FAINT if focus and title not in focus else color


def known_titles(titles, known=()) -> KnownTitles:
    """Titles with a place for every method: `known`, then others by name."""
    others = {_bases(t)[-1] for t in titles if _known_base(t, known) is None}
    focus = getattr(known, "focus", ())
    return KnownTitles([*known, *sorted(others)], focus)


def styles(titles, known=()):
    """Styles of the curves of one figure, all different.

    Args:
        titles: Iterable of strings. Curves of one method have shades of its
            color, and other markers and dashes.
        known: Titles whose places come first, see `known_titles()`; as
            `KnownTitles`, with those in focus.

    Returns:
        Dict of what `style()` returns, by title.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.style import styles
    >>> looks = styles(["mine, k = 1", "mine, k = 2", "yours"])
    >>> for color, (marker, _), (dash, _) in looks.values():
    ...     print(color, marker, dash)
    #0072B2 o -
    #004c89 s --
    #56B4E9 s -
    """
    looks, taken, titles = {}, set(), list(dict.fromkeys(titles))
    known = known_titles(titles, known)
    # Assigned before the focus, which changes no other color.
    for title in titles:
        first, marker, dash = style(title, tuple(known))
        color, turn = first, 0
        # Grays have few shades: of hundreds, some are equal.
        while color in taken and turn < 40:
            turn += 1
            color = shade(first, turn)
        taken.add(color)
        marker = MARKERS[(MARKERS.index(marker) + turn) % len(MARKERS)]
        dash = DASHES[(DASHES.index(dash) + turn) % len(DASHES)]
        looks[title] = _faint_or(color, title, known), marker, dash
    return looks


def _bases(title):
    """A title, and the title without additions and settings."""
    base = title.split(", ")[0]
    return title, _ADDITION.sub("", title), base, _ADDITION.sub("", base)


def _known_base(title, known):
    return next((name for name in _bases(title) if name in known), None)
