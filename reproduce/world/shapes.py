"""Signed distances of the eight shapes of the synthetic world."""

import numpy as np


def signed_distance(shape, u, v):
    """Returns how far points lie outside a shape of radius one at the origin.

    Negative inside, positive outside. The distance is exact near the outline
    up to a few per cent, which is all that anti-aliasing needs.

    Args:
        shape: String, one of `reproduce.world.SHAPES`.
        u: Float array, points' coordinates to the right.
        v: Float array of the same shape, points' coordinates downwards.

    Returns:
        Float array of that shape, in units of the radius.

    Example:

    >>> from reproduce.world.shapes import signed_distance
    >>> signed_distance("ball", np.array([0.0, 1.95]), np.zeros(2))
    array([-0.95, 1. ])
    """
    if shape not in _DISTANCES:
        raise ValueError(
            f"`shape` must be one of {tuple(_DISTANCES)}. "
            f"Received: shape={shape!r}"
        )
    return _DISTANCES[shape](u, v)


def _ball(u, v):
    return np.hypot(u, v) - 0.95


def _rectangle(u, v, width, height, corner):
    across = np.abs(u) - (width - corner)
    along = np.abs(v) - (height - corner)
    outside = np.hypot(np.maximum(across, 0), np.maximum(along, 0))
    return outside + np.minimum(np.maximum(across, along), 0) - corner


def _box(u, v):
    return _rectangle(u, v, 0.83, 0.83, 0.1)


def _cross(u, v):
    return np.minimum(
        _rectangle(u, v, 0.98, 0.34, 0.06), _rectangle(u, v, 0.34, 0.98, 0.06)
    )


def _cone(u, v):
    # Two slanted sides from the apex (0, -1) and a bulging base: a triangle
    # alone reads as flat.
    side = 0.916 * np.abs(u) - 0.401 * (v + 1.0)
    base = np.hypot(u / 0.82, np.maximum(v - 0.62, 0) / 0.32) - 1.0
    return np.maximum(side, np.where(v > 0.62, 0.35 * base, v - 0.94))


def _star(u, v):
    # One tenth of the plane stands for all: fold the angle, then measure to
    # the line between a tip and the neighbouring notch.
    tip, notch, half = 1.05, 0.5, np.pi / 5
    angle = np.arctan2(u, -(v - 0.04))
    folded = np.abs((angle + half) % (2 * half) - half)
    radius = np.hypot(u, v - 0.04)
    x, y = radius * np.cos(folded), radius * np.sin(folded)
    along = (notch * np.cos(half) - tip, notch * np.sin(half))
    length = np.hypot(*along)
    return ((x - tip) * along[1] - y * along[0]) / length


def _heart(u, v):
    # Two lobes over a corner that points down; exact, after Quilez.
    scale = 1.7
    x, y = np.abs(u) / scale, (0.93 - v) / scale
    lobe = np.hypot(x - 0.25, y - 0.75) - np.sqrt(2) / 4
    foot = np.maximum(x + y, 0) / 2
    notch = np.hypot(x, y - 1)
    side = np.minimum(notch, np.hypot(x - foot, y - foot)) * np.sign(x - y)
    return scale * np.where(x + y > 1, lobe, side)


def _ring(u, v):
    return np.abs(np.hypot(u, v) - 0.7) - 0.27


def _moon(u, v):
    outer = np.hypot(u + 0.05, v) - 0.97
    bite = np.hypot(u - 0.46, v) - 0.82
    return np.maximum(outer, -bite)


_DISTANCES = {
    "ball": _ball,
    "box": _box,
    "cone": _cone,
    "star": _star,
    "heart": _heart,
    "cross": _cross,
    "ring": _ring,
    "moon": _moon,
}
