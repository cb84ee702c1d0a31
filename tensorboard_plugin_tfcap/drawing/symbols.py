"""Outlines of marks, by Plotly's names; each has about the same area."""

import math


def outline(symbol: str) -> list | None:
    """Corners of a mark of diameter 1 around the origin; `None` of a circle.

    Raises:
        KeyError: If there is no such mark.
    """
    return _OUTLINES[symbol]


def _regular(corners, radius=0.58, turn=0.0, inner=1.0):
    points = []
    for place in range(corners):
        angle = 2 * math.pi * place / corners - math.pi / 2 + turn
        length = radius * (inner if place % 2 else 1)
        points.append((length * math.cos(angle), length * math.sin(angle)))
    return points


def _turned(points, angle):
    sine, cosine = math.sin(angle), math.cos(angle)
    return [(x * cosine - y * sine, x * sine + y * cosine) for x, y in points]


_A, _B = 0.56, 0.19
_CROSS = [
    *((-_B, -_A), (_B, -_A), (_B, -_B), (_A, -_B), (_A, _B), (_B, _B)),
    *((_B, _A), (-_B, _A), (-_B, _B), (-_A, _B), (-_A, -_B), (-_B, -_B)),
]
_UP = _regular(3, 0.66)
_OUTLINES = {
    "circle": None,
    "square": [(-0.46, -0.46), (0.46, -0.46), (0.46, 0.46), (-0.46, 0.46)],
    "diamond": _regular(4, 0.65),
    "cross": _CROSS,
    "x": _turned(_CROSS, math.pi / 4),
    "triangle-up": _UP,
    "triangle-down": _turned(_UP, math.pi),
    "triangle-left": _turned(_UP, -math.pi / 2),
    "triangle-right": _turned(_UP, math.pi / 2),
    "pentagon": _regular(5, 0.6),
    "hexagon": _regular(6, 0.57),
    "octagon": _regular(8, 0.55, math.pi / 8),
    "star": _regular(10, 0.7, inner=0.45),
    "hexagram": _regular(12, 0.66, inner=0.577),
    "hourglass": [(-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5)],
    "bowtie": [(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)],
}
