"""Ground-truth scenes of the synthetic world."""

import dataclasses
import functools

import numpy as np

from reproduce.world.shapes import signed_distance

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
# A thing overlaps another when it covers at least this share of either.
OVERLAP_SHARE = 0.04


@dataclasses.dataclass(frozen=True)
class Thing:
    """One object of a scene.

    Args:
        shape: String, one of `SHAPES`.
        color: String, one of `COLORS`.
        size: String, one of `SIZES`.
        texture: String, one of `TEXTURES`.
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

    def covers(self, x, y):
        """Whether points, arrays of pixel coordinates, lie on the thing."""
        u, v = (x - self.x) / self.radius, (y - self.y) / self.radius
        return signed_distance(self.shape, u, v) <= 0

    def distance(self, other):
        """Pixels between the centers of two things."""
        return float(np.hypot(self.x - other.x, self.y - other.y))


@dataclasses.dataclass(frozen=True)
class Scene:
    """What an image shows, exactly: the truth that statements are held to.

    Args:
        background: String, one of `BACKGROUNDS`.
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
        """How thing `i` lies to thing `j`.

        Returns:
            Set of the strings that hold among `"left"`, `"right"`, `"above"`,
            `"below"` (by more than `SIDE_MARGIN` pixels, so a diagonal
            neighbor has two), `"near"`, `"overlaps"`, and with it `"in_front"`
            or `"behind"`.
        """
        here, there = self.things[i], self.things[j]
        across, down = here.x - there.x, here.y - there.y
        gap = here.distance(there) - here.radius - there.radius
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
