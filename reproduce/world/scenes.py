"""Synthetic scenes: what is true of them, the shapes in them, and their odds.

Scenes have the statistics of photographs: a few things are common.
"""

import bisect
import dataclasses
import functools
import itertools

import numpy as np
from numpy.typing import NDArray

# fmt: off
SHAPES = ("ball", "box", "cone", "star", "heart", "cross", "ring", "moon")
COLORS = (
    "red", "orange", "yellow", "green", "blue", "purple", "white", "black",
)
SIZES = ("small", "medium", "large")
TEXTURES = ("plain", "striped", "dotted")
#: How a thing may look: shape, color, size and texture.
LOOKS = {
    "shape": SHAPES, "color": COLORS, "size": SIZES, "texture": TEXTURES,
}
BACKGROUNDS = ("grass", "sand", "snow", "water", "brick", "night")
ROWS, COLUMNS = ("top", "middle", "bottom"), ("left", "center", "right")
# Falling off like 1 / rank: common things give captions that many images
# share, rare ones give what would single an image out.
_BACKGROUND_ODDS = {
    "grass": 0.26, "sand": 0.20, "snow": 0.17, "water": 0.14, "brick": 0.12,
    "night": 0.11,
}
_SHAPE_ODDS = {
    "ball": 0.26, "box": 0.22, "star": 0.14, "cone": 0.12, "heart": 0.09,
    "ring": 0.07, "cross": 0.06, "moon": 0.04,
}
COLOR_ODDS = {
    "red": 0.25, "blue": 0.19, "green": 0.14, "yellow": 0.13, "white": 0.10,
    "black": 0.08, "orange": 0.06, "purple": 0.05,
}
_SIZE_ODDS = {"medium": 0.42, "small": 0.32, "large": 0.26}
TEXTURE_ODDS = {"plain": 0.56, "striped": 0.25, "dotted": 0.19}
_COUNT_ODDS = {3: 0.42, 4: 0.29, 5: 0.16, 6: 0.08, 7: 0.05}
# What hardly stands out from what is behind it is rarer, not absent.
CAMOUFLAGE = {
    "grass": {"green": 0.35}, "sand": {"yellow": 0.45, "orange": 0.6},
    "snow": {"white": 0.4}, "water": {"blue": 0.35},
    "brick": {"red": 0.5, "orange": 0.5},
    "night": {"black": 0.35, "purple": 0.6},
}
# fmt: on
_REPEAT_ODDS = 0.30
RADII = {"small": (4.8, 5.4), "medium": (6.8, 7.5), "large": (9.2, 9.9)}
_LOW, _HIGH = 9.0, 55.0
# Just above the diagonal of an 8 pixel cell: no cell holds two centers.
APART = 11.5
LEAST_VISIBLE = 0.62
# Centers keep this far from the cells' borders: which cell a thing is in is
# then never a matter of a fraction of a pixel.
_OFF_BORDER = 1.0
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

    def find(self, **looks):
        """Indices of the things with all of the attributes that are given."""
        return tuple(
            i
            for i, thing in enumerate(self.things)
            if looks.items() <= vars(thing).items()
        )

    def replaced(self, i, *things):
        """The scene with others, or none, instead of thing `i`."""
        own = self.things
        return Scene(self.background, (*own[:i], *things, *own[i + 1 :]))

    def visible(self, i):
        """Share of thing `i` that nothing in front of it hides, in `[0, 1]`."""
        return self._hidden[1][i]

    @property
    def least_visible(self):
        """The least share of a thing that can be seen."""
        return min(self._hidden[1])

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
        thing = self.things[i]
        row, column = (
            min(int(at * 3 / IMAGE_SIZE), 2) for at in (thing.y, thing.x)
        )
        return ROWS[row], COLUMNS[column]

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

    >>> from reproduce.world.scenes import signed_distance
    >>> signed_distance("ball", np.array([0.0, 1.95]), np.zeros(2))
    array([-0.95, 1. ])
    """
    return _DISTANCES[shape](u, v)


def _rectangle(u, v, width, height, corner):
    across = np.abs(u) - (width - corner)
    along = np.abs(v) - (height - corner)
    outside = np.hypot(np.maximum(across, 0), np.maximum(along, 0))
    return outside + np.minimum(np.maximum(across, along), 0) - corner


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


def _moon(u, v):
    outer = np.hypot(u + 0.05, v) - 0.97
    bite = np.hypot(u - 0.46, v) - 0.82
    return np.maximum(outer, -bite)


_DISTANCES = {
    "ball": lambda u, v: np.hypot(u, v) - 0.95,
    "box": lambda u, v: _rectangle(u, v, 0.83, 0.83, 0.1),
    "cone": _cone,
    "star": _star,
    "heart": _heart,
    "cross": _cross,
    "ring": lambda u, v: np.abs(np.hypot(u, v) - 0.7) - 0.27,
    "moon": _moon,
}


def sample_scene(rng: np.random.Generator, count: int | None = None) -> Scene:
    """Draws a scene: 3 to 7 things on a background, some of them overlapping.

    Shapes are distinct but for about three scenes in ten, where one comes
    twice or thrice, so that a shape alone does not always name a thing.

    Args:
        count: Integer, number of things. Defaults to `None`, it is drawn.

    Returns:
        A `Scene`. Centers lie in `[9, 55]` on both axes and more than 11.5
        pixels apart; at least 62 % of each thing is visible.

    Example:

    >>> from reproduce.world import sample_scene
    >>> scene = sample_scene(np.random.default_rng(0))
    >>> 3 <= len(scene.things) <= 7
    True
    """
    background = draw(rng, _BACKGROUND_ODDS)
    count = count or draw(rng, _COUNT_ODDS)
    looks = _looks(rng, background, count)
    while True:
        centers = _centers(rng, looks)
        if centers is None:
            continue
        things = (
            Thing(*look[:4], *center, radius=look[4])
            for look, center in zip(looks, centers)
        )
        scene = Scene(background, tuple(things))
        if scene.least_visible >= LEAST_VISIBLE:
            return scene


def _looks(rng, background, count):
    """Attributes and radius of each thing, no two with the same four."""
    shapes = _shapes(rng, count)
    colors = {
        color: odds * CAMOUFLAGE[background].get(color, 1.0)
        for color, odds in COLOR_ODDS.items()
    }
    looks = []
    while len(looks) < count:
        shape = shapes[len(looks)]
        size = draw(rng, _SIZE_ODDS)
        look = (shape, draw(rng, colors), size, draw(rng, TEXTURE_ODDS))
        if look not in [other[:4] for other in looks]:
            looks.append((*look, hundredths(rng.uniform(*RADII[size]))))
    return looks


def hundredths(value):
    """A number as scenes hold it."""
    return round(float(value), 2)


def _shapes(rng, count):
    # Gumbel's trick: the top `count` of the perturbed log odds are a draw
    # without replacement.
    names, odds = zip(*_SHAPE_ODDS.items())
    scores = np.log(odds) + rng.gumbel(size=len(SHAPES))
    shapes = [names[i] for i in np.argsort(-scores)[:count]]
    if rng.random() < _REPEAT_ODDS:
        times = 1 + int(count > 3 and rng.random() < 0.3)
        shapes[count - times :] = [shapes[0]] * times
    rng.shuffle(shapes)
    return shapes


def _centers(rng, looks):
    """Centers, far enough apart, or None when they did not fit."""
    centers = []
    for look in looks:
        for _ in range(60):
            if centers and rng.random() < 0.45:
                x, y = _beside(rng, looks, centers, look[4])
            else:
                x, y = rng.uniform(_LOW, _HIGH, 2)
            x, y = hundredths(x), hundredths(y)
            apart = all(np.hypot(x - a, y - b) > APART for a, b in centers)
            if apart and allowed(x) and allowed(y):
                centers.append((x, y))
                break
        else:
            return None
    return centers


def allowed(value):
    """Check whether a center may be there, on one axis."""
    inside = _OFF_BORDER <= value % 8 <= 8 - _OFF_BORDER
    return inside and _LOW <= value <= _HIGH


def _beside(rng, looks, centers, radius):
    """A center so close to an earlier thing that the two may overlap."""
    other = int(rng.integers(len(centers)))
    reach = (radius + looks[other][4]) * rng.uniform(0.7, 1.05)
    angle = rng.uniform(0, 2 * np.pi)
    x, y = centers[other]
    return x + reach * np.cos(angle), y + reach * np.sin(angle)


def draw(rng, odds):
    """Draws a key of a dict of odds, which need not sum to one."""
    totals = list(itertools.accumulate(odds.values()))
    index = bisect.bisect(totals, rng.random() * totals[-1])
    return list(odds)[index]
