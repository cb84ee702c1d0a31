"""A network that turns images into grids, whatever package made it."""

import dataclasses
import math
from collections.abc import Callable

#: Register tokens of the models that have been published with some.
_REGISTERS = 4
_MODES = ("raw", "unit", "caffe", "tf", "torch")


@dataclasses.dataclass(frozen=True)
class Backbone:
    """A network that turns images into a grid of features.

    Attributes:
        name: String, kept in the feature file.
        layer: String, the layer that is read, kept in the feature file.
        input_size: Pair of integers, height and width of its images.
        preprocessing: String: `"raw"` (pixels 0 to 255), `"unit"` (0 to 1),
            or `"caffe"`, `"tf"`, `"torch"` as in `keras.applications`.
        network: Function of a float tensor of shape `(B, height, width, 3)`
            that returns a grid `(B, h, w, D)`, or `(B, P, D)` with tokens in
            the rows of a square grid, perhaps after one class token and after
            register tokens (which are left out).
        register_tokens: Integer, number of register tokens, as DINOv2 with
            registers and DINOv3 have 4 of them. Defaults to `None`, unknown:
            there are none, and a number of tokens that would be a square grid
            with four of them as well is refused.
    """

    name: str
    layer: str
    input_size: tuple
    preprocessing: str
    network: Callable
    register_tokens: int | None = None

    def __post_init__(self):
        if self.preprocessing not in _MODES:
            raise ValueError(
                f"`preprocessing` must be one of {', '.join(_MODES)}. "
                f"Received: preprocessing={self.preprocessing!r}."
            )
        if (self.register_tokens or 0) < 0:
            raise ValueError(
                "`register_tokens` must not be negative. Received: "
                f"register_tokens={self.register_tokens}."
            )

    def __call__(self, images):
        """Features of images.

        Args:
            images: Float array of shape `(B, height, width, 3)`, RGB, 0 to
                255.

        Returns:
            Float array of shape `(B, h, w, D)`.
        """
        import keras

        if self.preprocessing == "unit":
            images = images / 255.0
        elif self.preprocessing != "raw":
            images = keras.applications.imagenet_utils.preprocess_input(
                images.copy(), mode=self.preprocessing
            )
        grid = keras.ops.convert_to_numpy(self.network(images))
        if grid.ndim == 3:
            grid = _unroll_tokens(grid, self)
        if grid.ndim != 4:
            raise ValueError(
                "`layer` must give a grid (B, h, w, D). Received: "
                f"layer={self.layer!r} of {self.name}, whose output has shape "
                f"{grid.shape}. Name an earlier layer."
            )
        return grid


def _unroll_tokens(tokens, backbone):
    """Tokens `(B, P, D)` of a transformer as a square grid."""
    count, registers = tokens.shape[1], backbone.register_tokens
    if registers is None and _side(count) and _side(count - 1 - _REGISTERS):
        raise ValueError(
            "`register_tokens` must be given where it does not show in the "
            f"number of tokens. Received: register_tokens=None, layer="
            f"{backbone.layer!r} of {backbone.name} with {count} tokens: a "
            f"square grid, or a smaller one after a class token and "
            f"{_REGISTERS} register tokens. Pass 0 or {_REGISTERS}."
        )
    for class_token in (0, 1):  # where there is one, it comes first
        first = class_token + (registers or 0)
        side = _side(count - first)
        if side:
            grid = tokens[:, first:]
            return grid.reshape(len(grid), side, side, tokens.shape[-1])
    raise ValueError(
        "`layer` must give a square grid of tokens. Received: "
        f"layer={backbone.layer!r} of {backbone.name} with {count} tokens, "
        f"register_tokens={registers}. Where register tokens stand before the "
        "grid, as in DINOv2 with registers and in DINOv3, pass their number, "
        "`register_tokens=4`; for other sizes of the image, a square one."
    )


def _side(count):
    """Side of a square grid of so many tokens; 0 if there is none."""
    side = math.isqrt(max(count, 0))
    return side if side * side == count else 0
