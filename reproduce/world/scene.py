"""Ground truth of synthetic scenes, and the shapes in them."""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

SHAPES = ("ball", "box", "cone", "star", "heart", "cross", "ring", "moon")
COLORS = (
    "red",
    "orange",
    "yellow",
    "green",
    "blue",
    "purple",
    "white",
    "black",
)
SIZES = ("small", "medium", "large")
TEXTURES = ("plain", "striped", "dotted")
BACKGROUNDS = ("grass", "sand", "snow", "water", "brick", "night")

IMAGE_SIZE = 64
# Further apart than this on either axis, one thing is left of or above another.
SIDE_MARGIN = 4.0
# Closer than this from edge to edge, two things are next to each other.
NEAR_GAP = 6.0
# Further apart than this from center to center, two things are far apart.
FAR_APART = 36.0
# A thing overlaps another when it covers at least this share of either.
OVERLAP_SHARE = 0.04


@dataclasses.dataclass(frozen=True)
class Thing:
    """One object of a scene.

    Args:
        x: Float, its center in pixels from the left, in `[0, 64]`.
        y: Float, its center in pixels from the top, in `[0, 64]`.
        radius: Float, half its extent in pixels.
    """

    shape: str
    color: str
    size: str
    texture: str
    x: float
    y: float
    radius: float

    @property
    def looks(self):
        """Shape, color, size and texture, as a set."""
        return frozenset((self.shape, self.color, self.size, self.texture))

    def covers(self, x, y):
        """Mask of points, given by pixel coordinates, on the object."""
        u, v = (x - self.x) / self.radius, (y - self.y) / self.radius
        return signed_distance(self.shape, u, v) <= 0

    def distance(self, other):
        """Pixels between the centers of two things."""
        return float(np.hypot(self.x - other.x, self.y - other.y))


@dataclasses.dataclass(frozen=True)
class Scene:
    """The objects and the background of an image.

    Args:
        things: Tuple of `Thing` in painter's order: later ones are in front.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> box = Thing("box", "blue", "small", "dotted", 44.0, 32.0, 5.0)
    >>> scene = Scene("grass", (ball, box))
    >>> scene.find(color="red"), sorted(scene.relation(0, 1))
    ((0,), ['left'])
    >>> scene.region(0)
    ('middle', 'left')
    """

    background: str
    things: tuple[Thing, ...]

    def find(self, shape=None, color=None, size=None, texture=None):
        """Indices of the things with all of the attributes that are given."""
        wanted = {
            "shape": shape,
            "color": color,
            "size": size,
            "texture": texture,
        }
        wanted = {k: v for k, v in wanted.items() if v is not None}
        return tuple(
            i
            for i, thing in enumerate(self.things)
            if all(getattr(thing, k) == v for k, v in wanted.items())
        )

    def visible(self, i):
        """Share of thing `i` that nothing in front of it hides, in `[0, 1]`."""
        return self._hidden[1][i]

    def relation(self, i, j):
        """Spatial relations of object `i` to object `j`.

        Returns:
            Set of the strings that hold among `"left"`, `"right"`, `"above"`,
            `"below"` (by more than `SIDE_MARGIN` pixels, so a diagonal
            neighbor has two), `"near"`, `"overlaps"`, and with it `"in_front"`
            or `"behind"`.
        """
        one, other = self.things[i], self.things[j]
        across, down = one.x - other.x, one.y - other.y
        gap = one.distance(other) - one.radius - other.radius
        front, back = max(i, j), min(i, j)
        overlaps = i != j and (back, front) in self._hidden[0]
        holds = {
            "left": across < -SIDE_MARGIN,
            "right": across > SIDE_MARGIN,
            "above": down < -SIDE_MARGIN,
            "below": down > SIDE_MARGIN,
            "near": i != j and gap < NEAR_GAP,
            "overlaps": overlaps,
            "in_front": overlaps and i == front,
            "behind": overlaps and i == back,
        }
        return {name for name, held in holds.items() if held}

    def region(self, i):
        """Third of the image that thing `i` is in, as `(row, column)` names."""
        row = min(int(self.things[i].y * 3 / IMAGE_SIZE), 2)
        column = min(int(self.things[i].x * 3 / IMAGE_SIZE), 2)
        return ("top", "middle", "bottom")[row], (
            "left",
            "center",
            "right",
        )[column]

    @functools.cached_property
    def _hidden(self):
        """Pairs `(back, front)` that overlap; visible share of each thing."""
        pairs, shares = set(), []
        for i, thing in enumerate(self.things):
            near = [
                j
                for j in range(i + 1, len(self.things))
                if thing.distance(self.things[j])
                < thing.radius + self.things[j].radius
            ]
            if not near:
                shares.append(1.0)
                continue
            x, y = _points(thing)
            hidden = np.zeros(x.shape, bool)
            for j in near:
                front = self.things[j]
                covered = front.covers(x, y)
                # Compared with the smaller of the two, so that a big thing
                # that pokes into a small one counts.
                smaller = min(1.0, (front.radius / thing.radius) ** 2)
                if covered.mean() >= OVERLAP_SHARE * smaller:
                    pairs.add((i, j))
                hidden |= covered
            shares.append(float(1.0 - hidden.mean()))
        return pairs, tuple(shares)


def scene_to_dict(scene):
    """Turns a `Scene` into a nest of plain values, ready for JSON."""
    return {
        "background": scene.background,
        "things": [dataclasses.asdict(thing) for thing in scene.things],
    }


def scene_from_dict(values):
    """Turns what `scene_to_dict()` returned into the same `Scene` again."""
    things = tuple(Thing(**thing) for thing in values["things"])
    return Scene(values["background"], things)


def _points(thing):
    """Sample points on a thing: two arrays of pixel coordinates."""
    ticks = (np.arange(24) + 0.5) / 12 - 1.0
    u, v = (grid.ravel() for grid in np.meshgrid(ticks, ticks))
    on = signed_distance(thing.shape, u, v) <= 0
    return thing.x + u[on] * thing.radius, thing.y + v[on] * thing.radius


def signed_distance(shape: str, u: NDArray, v: NDArray) -> NDArray:
    """Returns how far points lie outside a shape of radius one at the origin.

    Negative inside, positive outside. The distance is exact near the outline
    up to a few per cent, which is all that anti-aliasing needs.

    Args:
        v: Float array of the same shape, points' coordinates downwards.

    Returns:
        Float array of that shape, in units of the radius.

    Example:

    >>> from reproduce.world.scene import signed_distance
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
