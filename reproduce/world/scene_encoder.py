"""Image encoder of the synthetic world, and the labels to train it on."""

import functools

import keras
import numpy as np
from keras import ops

from reproduce.world.scenes import BACKGROUNDS
from reproduce.world.scenes import LOOKS

GRID = 6
# Size of a feature, and what of it tells looks, place and background.
_UNITS, _POSITION_UNITS, _GROUND_UNITS = 64, 2 * GRID, 8
_LOOKS_UNITS = _UNITS - _POSITION_UNITS - _GROUND_UNITS
_SCALE, _PLACE_SCALE = 3.0, 0.6
# The rim holds no centers, so the grid leaves it out.
_MARGIN = 8.0


@keras.saving.register_keras_serializable(package="tfcap")
class SceneEncoder(keras.Model):
    """Turns scenes into a grid of features, as a VGG does with photographs.

    A small fully convolutional network with one vector per 8 pixel cell of
    the image, the rim left out. Each vector is

    ```
    looks = whiten(embedding(cell))                   # of the thing there
    place = 0.6 * bump(row, column)                   # of the cell itself
    feature = concat(presence * looks, ground / 2, presence * place)
    ```

    so that a cell without a thing holds but a faint trace of the background,
    and attention to a thing finds its place. `presence` is the probability of
    a thing by the shape head. The looks include the heads' probabilities of
    the 22 values of shape, color, size and texture, times a fixed orthonormal
    matrix: an attribute is a direction of norm 3. Places are small beside
    looks, since attention then learns much sooner.

    `reproduce.world.features.pretrain_scene_encoder()` trains the heads
    and then fits `whiten`.

    Args:
        filters: Integer, channels of the first convolution; the later ones
            have twice and four times as many. Defaults to `24`.

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

    def __init__(self, filters: int = 24, **kwargs):
        super().__init__(**kwargs)
        dense = keras.layers.Dense
        self.filters = filters
        self.rescaling = keras.layers.Rescaling(1 / 64, offset=-2.0)
        self.trunk = _trunk(filters)
        self.embedding = dense(_LOOKS_UNITS, name="embedding")
        self.ground = dense(_GROUND_UNITS, name="ground")
        self.heads = {
            name: dense(1 + len(values), name=name)
            for name, values in LOOKS.items()
        }
        self.background = dense(len(BACKGROUNDS), name="background")
        # Neither is trained.
        orthogonal = keras.initializers.Orthogonal(seed=0)
        options = {"kernel_initializer": orthogonal, "use_bias": False}
        self.directions = dense(
            _LOOKS_UNITS, trainable=False, name="directions", **options
        )
        options = {"kernel_initializer": "identity", "trainable": False}
        self.whiten = dense(_LOOKS_UNITS, name="whiten", **options)

    def build(self, input_shape):
        # All layers, also those that recognition alone does not call.
        self.call(keras.Input(batch_shape=(1, *input_shape[1:])))
        self.built = True

    def call(self, images, training: bool = False, attributes: bool = False):
        looks, ground, logits = self.perceive(images, training)
        if attributes:
            return logits
        presence = 1.0 - ops.softmax(logits["shape"], axis=-1)[..., :1]
        # Given that there is something, so without the class "nothing".
        values = [ops.softmax(logits[name][..., 1:], -1) for name in LOOKS]
        values = self.directions(ops.concatenate(values, axis=-1))
        looks = _SCALE * values + self.whiten(looks)
        position = _PLACE_SCALE * ops.cast(_position_code(), looks.dtype)
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

    def get_config(self):
        return {**super().get_config(), "filters": self.filters}


def _trunk(filters):
    """Three halvings of the resolution, from 64 to 8 cells a side."""
    layers = keras.layers
    convolution = functools.partial(
        layers.Conv2D, padding="same", use_bias=False
    )
    plan = [(1, 4, 2), (1, 3, 1), (2, 3, 2), (2, 3, 1), (4, 3, 2), (4, 3, 1)]
    trunk = []
    for i, (width, kernel, stride) in enumerate(plan):
        trunk += [
            convolution(width * filters, kernel, stride, name=f"conv{i}"),
            layers.BatchNormalization(momentum=0.9, name=f"norm{i}"),
            layers.ReLU(name=f"relu{i}"),
        ]
    return trunk


def _position_code():
    """Row and column of each cell as bumps that neighbors share: `(P, 12)`."""
    steps = ops.arange(GRID, dtype="float32")
    bump = ops.exp(-ops.square(steps[:, None] - steps[None, :]))
    rows = ops.repeat(bump, GRID, axis=0)
    columns = ops.tile(bump, (GRID, 1))
    return ops.concatenate([rows, columns], axis=-1)


def dense_targets(scenes) -> dict:
    """Attributes of the thing in each cell, to train an image encoder on.

    Returns:
        Dict of int32 arrays: `shape`, `color`, `size` and `texture` of shape
        `(B, 36)`, 0 where there is nothing and one plus the index in `SHAPES`
        and so on elsewhere, and `background` of shape `(B,)`, the index in
        `BACKGROUNDS`.

    Example:

    >>> from reproduce.world import Scene, Thing, dense_targets
    >>> ball = Thing("ball", "red", "large", "plain", 12.0, 12.0, 9.0)
    >>> targets = dense_targets([Scene("sand", (ball,))])
    >>> targets["color"][0, :3], targets["background"]
    (array([1, 0, 0], dtype=int32), array([1], dtype=int32))
    """
    shape = len(scenes), GRID * GRID
    targets = {name: np.zeros(shape, np.int32) for name in LOOKS}
    for row, scene in enumerate(scenes):
        for thing in scene.things:
            x, y = (int((at - _MARGIN) // 8) for at in (thing.x, thing.y))
            for name, values in LOOKS.items():
                label = 1 + values.index(getattr(thing, name))
                targets[name][row, y * GRID + x] = label
    grounds = [BACKGROUNDS.index(scene.background) for scene in scenes]
    targets["background"] = np.array(grounds, np.int32)
    return targets
