"""Names of methods at their curves, without overlaps."""

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.plotly_text import marked

#: Pixels of a letter and a line.
_LETTER, _HEIGHT = 6.9, 15.0
#: Directions from a mark to its label's nearest corner or side, and distances.
_WAYS = [
    (right, up)
    for right, up in (
        *((1, 1), (-1, 1), (1, -1), (-1, -1)),
        *((1, 0), (-1, 0), (0, 1), (0, -1)),
    )
]
_FAR = (7.0, 22.0, 40.0, 62.0, 90.0, 120.0)
#: Longer names are cut; of more curves, none is named.
_LONGEST, MOST = 34, 40
#: Most points of other lines that a name avoids.
_POINTS = 500
#: Prefix of the names of such annotations.
NAMED = "method "


def name_places(curves, titles, size, taken=()):
    """Chooses a place for the name of each curve.

    Greedily, in the order of the legend: at an end of its curve, else at
    another mark; beside the mark, else further away with a line to it.

    Args:
        curves: List of float arrays of shape `(n, 2)`, pixels of marks from
            the lower left; NaN where there is none.
        titles: List of as many strings; an empty one has no place.
        size: Pair of floats, the plot's width and height in pixels.
        taken: Boxes to avoid: left, bottom, right and top. Defaults to none.

    Returns:
        List of pairs of the number of a mark and a box, or `None` where no
        place is free.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import name_places
    >>> curves = [np.array([[50.0, 50.0]]), np.array([[54.0, 50.0]])]
    >>> (mark, box), other = name_places(curves, ["a", "b"], (400, 300))
    >>> box[0] > 54 or box[1] > 50, other[1] != box
    (True, True)
    """
    marks = np.concatenate([*curves, np.empty((0, 2))])
    marks = marks[np.isfinite(marks).all(axis=1)]
    boxes = np.concatenate(
        [
            np.concatenate([marks - 5, marks + 5], axis=1),
            np.reshape(np.array(list(taken), "float64"), (-1, 4)),
        ]
    )
    if len(curves) > MOST:
        return [None] * len(curves)
    paths = [_along(curve) for curve in curves]
    found = []
    for place, (curve, title) in enumerate(zip(curves, titles)):
        best = None
        if title and sum(box is not None for box in found) < MOST:
            others = [p for i, p in enumerate(paths) if i != place]
            lines = np.concatenate([*others, np.empty((0, 2))])
            lines = lines[:: len(lines) // _POINTS + 1]
            best = _best(curve, title, size, boxes, lines)
        if best is not None:
            boxes = np.concatenate([boxes, [best[1]]])
        found.append(best)
    return found


def cut(title):
    """A title, shortened."""
    return title if len(title) <= _LONGEST else f"{title[: _LONGEST - 1]}\u2026"


def _best(curve, title, size, boxes, lines):
    """The free place with the least cost, of distance and crossed lines."""
    half = np.array([len(cut(title)) * _LETTER, _HEIGHT]) / 2
    ends = [i for i in range(len(curve)) if np.isfinite(curve[i]).all()]
    ends = list(dict.fromkeys([*ends[-1:], *ends[:1], *ends]))[:8]
    places, cost, which = [], [], []
    for rank, mark in enumerate(ends):
        for far in _FAR:
            for way in _WAYS:
                middle = curve[mark] + np.multiply(way, half + far)
                places.append(np.concatenate([middle - half, middle + half]))
                cost.append(far + 4.0 * rank)
                which.append(mark)
    if not places:
        return None
    places, cost = np.array(places), np.array(cost)
    low, high = places[:, None, :2], places[:, None, 2:]
    inside = (places[:, :2] >= -4).all(axis=1) & (
        places[:, 2:] <= np.add(size, 4)
    ).all(axis=1)
    meets = (boxes[None, :, :2] < high) & (boxes[None, :, 2:] > low)
    crossed = ((lines[None] > low) & (lines[None] < high)).all(axis=-1)
    cost = cost + 9.0 * crossed.sum(axis=1)
    cost[~inside | meets.all(axis=-1).any(axis=1)] = np.inf
    least = int(cost.argmin())
    if np.isinf(cost[least]):
        return None
    return which[least], places[least].tolist()


def _along(curve, step=12.0):
    """Points along a curve, closer than a letter is wide."""
    curve = curve[np.isfinite(curve).all(axis=1)]
    if len(curve) < 2:
        return curve
    ways = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    count = np.maximum(np.minimum(ways / step, 200).astype(int), 1)
    return np.concatenate(
        [
            np.linspace(a, b, n, endpoint=False)
            for a, b, n in zip(curve[:-1], curve[1:], count)
        ]
    )


def name_annotations(
    lines, texts, spans, size, taken=(), log=(False, False)
) -> list[dict]:
    """Names as annotations of Plotly, with lines to their marks.

    Args:
        lines: List of `Line`.
        texts: Dict of colors by title, of the curves to name.
        spans: Pair of the ranges of both axes, as the layout has them.
        size: Pair of floats, the plot's pixels.
        taken: Boxes to avoid.
        log: Pair of booleans, whether axes are logarithmic.
    """
    values = [
        [_scaled(v, is_log) for v, is_log in zip((line.x, line.y), log)]
        for line in lines
    ]
    curves = [
        np.stack(
            [
                (v - low) / ((high - low) or 1.0) * long
                for v, (low, high), long in zip(pair, spans, size)
            ],
            axis=-1,
        )
        for pair in values
    ]
    titles = [line.title if line.title in texts else "" for line in lines]
    found = name_places(curves, titles, size, taken)
    notes = []
    for line, pair, curve, one in zip(lines, values, curves, found):
        if one is None:
            continue
        mark, box = one
        middle = np.array([box[0] + box[2], box[1] + box[3]]) / 2
        ax, ay = (middle - curve[mark]).tolist()
        notes.append(
            {
                "name": f"{NAMED}{line.title}",
                "text": marked(cut(line.title)),
                **{"x": float(pair[0][mark]), "y": float(pair[1][mark])},
                **{"xref": "x", "yref": "y", "axref": "pixel"},
                **{"ayref": "pixel", "ax": round(ax, 1), "ay": -round(ay, 1)},
                "font": {"color": texts[line.title], "size": 12},
                "showarrow": True,
                **{"arrowhead": 0, "arrowwidth": 0.8, "standoff": 5},
                "arrowcolor": texts[line.title],
                **{"borderpad": 0, "captureevents": False},
            }
        )
    return notes


def _scaled(values, is_log):
    """Values in the units of their axis' range; NaN for what has none."""
    values = np.asarray(values, "float64")
    if not is_log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0, np.log10(values), np.nan)
