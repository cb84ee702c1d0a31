"""How methods are drawn, the same in every figure."""

from tensorboard_plugin_tfcap.tradeoff.methods import TITLES

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


def style(title):
    """How a method is drawn, the same in every figure.

    Args:
        title: String, of a method.

    Returns:
        Color, and the names of its marker and dash in Matplotlib and Plotly.
    """
    known = list(TITLES.values())
    base = title.removesuffix(" (code)")
    if base not in known:
        # One of several curves of a method, such as those of a temperature.
        base = base.split(", ")[0]
    # A method that is not known takes its place from its letters.
    place = known.index(base) if base in known else sum(map(ord, title))
    turn = place // len(COLORS) + title.endswith(" (code)")
    return (
        COLORS[place % len(COLORS)],
        MARKERS[place % len(MARKERS)],
        DASHES[turn % len(DASHES)],
    )


def styles(titles):
    """How the curves of one figure are drawn, no two of them alike.

    Args:
        titles: Iterable of strings. Of curves that would look the same, all
            but the first have another marker and dash.

    Returns:
        Dict of what `style()` returns, by title.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.style import styles
    >>> found = styles(["Luo et al. 2018, k = 1", "Luo et al. 2018, k = 2"])
    >>> for color, (marker, _), (dash, _) in found.values():
    ...     print(color, marker, dash)
    #7A3E9D s -
    #7A3E9D ^ --
    """
    found = {}
    for title in dict.fromkeys(titles):
        color, marker, dash = style(title)
        turn = 0
        while (color, marker, dash) in found.values() and turn < 28:
            turn += 1
            marker = MARKERS[(MARKERS.index(marker) + 1) % len(MARKERS)]
            dash = DASHES[(DASHES.index(dash) + 1) % len(DASHES)]
        found[title] = color, marker, dash
    return found
