"""Image encoder of the synthetic world."""

import keras
from keras import ops

CLASSES = {"shape": 9, "color": 9, "size": 4, "texture": 4}
GRID = 6
_VALUES = sum(CLASSES.values()) - len(CLASSES)
_PLACE_UNITS = 2 * GRID
_GROUND_UNITS = 8


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

    `reproduce.world.scene_features.pretrain_scene_encoder()` trains the heads
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
        self, units=64, filters=24, scale=3.0, place_scale=0.6, **kwargs
    ):
        super().__init__(**kwargs)
        looks_units = units - _PLACE_UNITS - _GROUND_UNITS
        if looks_units < _VALUES:
            least = _VALUES + _PLACE_UNITS + _GROUND_UNITS
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

    def call(self, images, training=False, attributes=False):
        looks, ground, logits = self.perceive(images, training)
        if attributes:
            return logits
        presence = 1.0 - ops.softmax(logits["shape"], axis=-1)[..., :1]
        # Given that there is something, so without the class "nothing".
        values = [ops.softmax(logits[name][..., 1:], -1) for name in CLASSES]
        values = self.directions(ops.concatenate(values, axis=-1))
        looks = self.scale * values + self.whiten(looks)
        place = self.place_scale * ops.cast(_place_code(), looks.dtype)
        place = ops.broadcast_to(place, (*ops.shape(looks)[:2], _PLACE_UNITS))
        return ops.concatenate(
            [presence * looks, ground / 2, presence * place], axis=-1
        )

    def perceive(self, images, training=False):
        """What the network sees, before it is laid out as features.

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

    def calibrate(self, kernel, bias):
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


def _place_code():
    """Row and column of each cell as bumps that neighbors share: `(P, 12)`."""
    steps = ops.arange(GRID, dtype="float32")
    bump = ops.exp(-ops.square(steps[:, None] - steps[None, :]))
    rows = ops.repeat(bump, GRID, axis=0)
    columns = ops.tile(bump, (GRID, 1))
    return ops.concatenate([rows, columns], axis=-1)
