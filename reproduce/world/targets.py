"""What each cell of a grid over a scene holds, as integers."""

import numpy as np

from reproduce.world.scene import BACKGROUNDS
from reproduce.world.scene import COLORS
from reproduce.world.scene import IMAGE_SIZE
from reproduce.world.scene import SHAPES
from reproduce.world.scene import SIZES
from reproduce.world.scene import TEXTURES

# The rim holds no centers, so the grid leaves it out.
MARGIN = 8.0


def cell_of(thing, grid=6):
    """Row-major index of the cell that the center of a thing lies in.

    The grid covers the image but for a rim of 8 pixels.

    Args:
        thing: A `Thing`.
        grid: Integer, cells along each side.

    Returns:
        Integer in `[0, grid * grid)`.
    """
    side = (IMAGE_SIZE - 2 * MARGIN) / grid
    column, row = (
        min(max(int((value - MARGIN) // side), 0), grid - 1)
        for value in (thing.x, thing.y)
    )
    return row * grid + column


def dense_targets(scenes, grid=6):
    """Attributes of the thing in each cell, to train an image encoder on.

    Args:
        scenes: Sequence of `Scene`.
        grid: Integer, cells along each side. With the default of `6` a cell
            holds at most one center; in coarser grids the front one counts.

    Returns:
        Dict of int32 arrays: `shape`, `color`, `size` and `texture` of shape
        `(B, grid * grid)`, 0 where there is nothing and one plus the index in
        `SHAPES` and so on elsewhere, and `background` of shape `(B,)`, the
        index in `BACKGROUNDS`.

    Example:

    >>> from reproduce.world import Scene, Thing, dense_targets
    >>> ball = Thing("ball", "red", "large", "plain", 12.0, 12.0, 9.0)
    >>> targets = dense_targets([Scene("sand", (ball,))])
    >>> targets["color"][0, :3], targets["background"]
    (array([1, 0, 0], dtype=int32), array([1], dtype=int32))
    """
    names = {
        "shape": SHAPES,
        "color": COLORS,
        "size": SIZES,
        "texture": TEXTURES,
    }
    targets = {
        key: np.zeros((len(scenes), grid * grid), np.int32) for key in names
    }
    for row, scene in enumerate(scenes):
        for thing in scene.things:
            cell = cell_of(thing, grid)
            for key, values in names.items():
                label = 1 + values.index(getattr(thing, key))
                targets[key][row, cell] = label
    targets["background"] = np.array(
        [BACKGROUNDS.index(scene.background) for scene in scenes], np.int32
    )
    return targets
