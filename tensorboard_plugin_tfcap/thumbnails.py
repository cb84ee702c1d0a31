"""Thumbnails for a log."""

import io
import os

import numpy as np

#: Pixels of the longer side.
SIZE = 128


def thumbnail(image, size=SIZE) -> bytes:
    """An image as a small JPEG.

    Args:
        image: Array of shape `(height, width, 3)`, `(height, width, 1)` or
            `(height, width)`, integers in `[0, 255]` or floats in `[0, 1]`; or
            a path of a file.
        size: Integer, pixels of the longer side at most. Defaults to `128`.

    Raises:
        ImportError: If Pillow is not installed.
        ValueError: If the shape differs, or floats are greater than 1.

    Example:

    >>> from tensorboard_plugin_tfcap.thumbnails import thumbnail
    >>> thumbnail(np.zeros((200, 100, 3), "uint8"))[:2]
    b'\\xff\\xd8'
    """
    # Imported here, since curves need no pictures.
    from PIL import Image

    if isinstance(image, str | os.PathLike):
        drawn = Image.open(image)
    else:
        drawn = Image.fromarray(_bytes(np.asarray(image)))
    drawn = drawn.convert("RGB")
    drawn.thumbnail((size, size))
    file = io.BytesIO()
    drawn.save(file, "JPEG", quality=82)
    return file.getvalue()


def _bytes(pixels):
    """An array of bytes, `(height, width, 3)` or `(height, width)`."""
    if pixels.ndim == 3 and pixels.shape[-1] == 1:
        pixels = pixels[..., 0]
    colours = pixels.ndim == 3 and pixels.shape[-1] in (3, 4)
    if pixels.ndim != 2 and not colours:
        raise ValueError(
            "`image` must have shape (height, width, 3) or (height, width). "
            f"Received: shape {pixels.shape}. Move channels last, in PyTorch "
            "by `x.permute(1, 2, 0)`."
        )
    if pixels.dtype.kind == "f":
        # Resizing may exceed 1 slightly.
        if np.nanmax(pixels, initial=0.0) > 2.0:
            raise ValueError(
                "`image` must hold floats in [0, 1] or integers in [0, 255]. "
                f"Received: floats up to {np.nanmax(pixels):g}. Divide them by "
                '255, or cast them by `.astype("uint8")`.'
            )
        pixels = np.rint(np.clip(np.nan_to_num(pixels), 0, 1) * 255)
    return pixels.astype("uint8")
