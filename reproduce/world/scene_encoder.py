"""Image encoder of the synthetic world, and the labels to train it on."""

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from reproduce.world.scene import BACKGROUNDS
from reproduce.world.scene import COLORS
from reproduce.world.scene import IMAGE_SIZE
from reproduce.world.scene import SHAPES
from reproduce.world.scene import SIZES
from reproduce.world.scene import TEXTURES

CLASSES = {"shape": 9, "color": 9, "size": 4, "texture": 4}
GRID = 6
_VALUES = sum(CLASSES.values()) - len(CLASSES)
_POSITION_UNITS = 2 * GRID
_GROUND_UNITS = 8
# The rim holds no centers, so the grid leaves it out.
MARGIN = 8.0


@keras.saving.register_keras_serializable(package="tfcap")
class SceneEncoder(keras.Model):
    """Turns scenes into a grid of features, as a VGG does with photographs.

    A small fully convolutional network with one vector per 8 pixel cell of
    the image, the rim left out. Each vector is

    ```
    looks = whiten(embedding(cell))                   # of the thing there
    place = place_scale * bump(row, column)           # of the cell itself
    feature = concat(presence * looks, ground / 2, presence * place)
    ```

    so that a cell without a thing holds but a faint trace of the background,
    and where a thing is can be told by what attends to it. `presence` is the
    probability that the shape head gives to there being one, `probabilities`
    are the heads' for the 22 values of shape, color, size and texture, and
    `directions` a fixed orthonormal matrix: an attribute is a direction of
    norm `scale`. Where a thing is tells less than what it is, so places are
    small beside looks: attention then learns much sooner.

    `reproduce.world.features.pretrain_scene_encoder()` trains the heads
    and then fits `whiten` with `calibrate()`.

    Args:
        units: Integer `D`, size of a feature. Defaults to `64`, of which 12
            tell the place and 8 the background.
        filters: Integer, channels of the first convolution; the later ones
            have twice and four times as many. Defaults to `24`.
        scale: Float, norm of an attribute's direction. Defaults to `3.0`.
        place_scale: Float, size of the place code. Defaults to `0.6`.

    Call arguments:
        images: Uint8 or float tensor of shape `(B, 64, 64, 3)`, 0 to 255.
        training: Boolean.
        attributes: Boolean, whether to return the heads' logits instead.

    Returns:
        Float tensor of shape `(B, P, D)` with `P=36` cells in row-major order;
        with `attributes`, a dict of logits: `shape` and `color`
        `(B, P, 9)`, `size` and `texture` `(B, P, 4)`, where class 0 is
        "nothing", and `background` `(B, 6)`.

    Example:

    >>> encoder = reproduce.world.SceneEncoder(filters=4)
    >>> encoder(np.zeros((2, 64, 64, 3), "uint8")).shape
    TensorShape([2, 36, 64])
    """

    def __init__(
        self,
        units=64,
        filters: int = 24,
        scale: float = 3.0,
        place_scale: float = 0.6,
        **kwargs,
    ):
        super().__init__(**kwargs)
        looks_units = units - _POSITION_UNITS - _GROUND_UNITS
        if looks_units < _VALUES:
            least = _VALUES + _POSITION_UNITS + _GROUND_UNITS
            raise ValueError(
                f"`units` must be at least {least}, so that each attribute "
                f"has a direction of its own. Received: units={units}"
            )
        self.units = units
        self.filters = filters
        self.scale = scale
        self.place_scale = place_scale
        self.rescaling = keras.layers.Rescaling(1 / 64, offset=-2.0)
        self.trunk = _trunk(filters)
        self.embedding = keras.layers.Dense(looks_units, name="embedding")
        self.ground = keras.layers.Dense(_GROUND_UNITS, name="ground")
        self.heads = {
            name: keras.layers.Dense(classes, name=name)
            for name, classes in CLASSES.items()
        }
        self.background = keras.layers.Dense(6, name="background")
        self.directions = keras.layers.Dense(
            looks_units,
            use_bias=False,
            kernel_initializer=keras.initializers.Orthogonal(seed=0),
            trainable=False,
            name="directions",
        )
        self.whiten = keras.layers.Dense(
            looks_units,
            kernel_initializer="identity",
            trainable=False,
            name="whiten",
        )

    def build(self, input_shape):
        if tuple(input_shape[1:]) != (64, 64, 3):
            raise ValueError(
                "`images` must have shape (B, 64, 64, 3). "
                f"Received: {tuple(input_shape)}. Resize them."
            )
        shape = tuple(input_shape)
        for layer in self.trunk:
            layer.build(shape)
            shape = layer.compute_output_shape(shape)
        self.embedding.build(shape)
        self.ground.build(shape)
        looks = (*shape[:-1], self.embedding.units)
        for head in (*self.heads.values(), self.whiten):
            head.build(looks)
        self.directions.build((*shape[:-1], _VALUES))
        self.background.build((shape[0], _GROUND_UNITS))
        self.built = True

    def call(self, images, training: bool = False, attributes: bool = False):
        looks, ground, logits = self.perceive(images, training)
        if attributes:
            return logits
        presence = 1.0 - ops.softmax(logits["shape"], axis=-1)[..., :1]
        # Given that there is something, so without the class "nothing".
        values = [ops.softmax(logits[name][..., 1:], -1) for name in CLASSES]
        values = self.directions(ops.concatenate(values, axis=-1))
        looks = self.scale * values + self.whiten(looks)
        position = self.place_scale * ops.cast(_position_code(), looks.dtype)
        position = ops.broadcast_to(
            position, (*ops.shape(looks)[:2], _POSITION_UNITS)
        )
        return ops.concatenate(
            [presence * looks, ground / 2, presence * position], axis=-1
        )

    def perceive(self, images, training=False):
        """Run the network up to the heads, before features are laid out.

        Returns:
            The embedding `(B, P, D - 20)`, the ground `(B, P, 8)` and the
            dict of logits.
        """
        x = self.rescaling(ops.cast(images, self.compute_dtype))
        for layer in self.trunk:
            x = layer(x, training=training)
        # Cells of the rim hold no centers of things, by the world's design.
        x = x[:, 1:-1, 1:-1]
        x = ops.reshape(x, (-1, GRID * GRID, x.shape[-1]))
        looks = self.embedding(x)
        ground = ops.tanh(self.ground(x))
        logits = {name: head(looks) for name, head in self.heads.items()}
        logits["background"] = self.background(ops.mean(ground, axis=1))
        return looks, ground, logits

    def calibrate(self, kernel: NDArray, bias: NDArray):
        """Sets the affine map from embedding to features: `x @ kernel + bias`.

        Args:
            kernel: Float array `(D - 20, D - 20)`.
            bias: Float array `(D - 20,)`.
        """
        self.whiten.set_weights([kernel, bias])

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "filters": self.filters,
            "scale": self.scale,
            "place_scale": self.place_scale,
        }


def _trunk(filters):
    """Three halvings of the resolution, from 64 to 8 cells a side."""
    layers = []
    plan = [(1, 4, 2), (1, 3, 1), (2, 3, 2), (2, 3, 1), (4, 3, 2), (4, 3, 1)]
    for i, (width, kernel, strides) in enumerate(plan):
        layers += [
            keras.layers.Conv2D(
                width * filters,
                kernel,
                strides=strides,
                padding="same",
                use_bias=False,
                name=f"conv{i}",
            ),
            keras.layers.BatchNormalization(momentum=0.9, name=f"norm{i}"),
            keras.layers.ReLU(name=f"relu{i}"),
        ]
    return layers


def _position_code():
    """Row and column of each cell as bumps that neighbors share: `(P, 12)`."""
    steps = ops.arange(GRID, dtype="float32")
    bump = ops.exp(-ops.square(steps[:, None] - steps[None, :]))
    rows = ops.repeat(bump, GRID, axis=0)
    columns = ops.tile(bump, (GRID, 1))
    return ops.concatenate([rows, columns], axis=-1)


def cell_of(thing, grid: int = 6):
    """Row-major index of the cell that the center of a thing lies in.

    The grid covers the image but for a rim of 8 pixels.

    Returns:
        Integer in `[0, grid * grid)`.
    """
    side = (IMAGE_SIZE - 2 * MARGIN) / grid
    column, row = (
        min(max(int((value - MARGIN) // side), 0), grid - 1)
        for value in (thing.x, thing.y)
    )
    return row * grid + column


def dense_targets(scenes, grid: int = 6) -> dict:
    """Attributes of the thing in each cell, to train an image encoder on.

    Args:
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
