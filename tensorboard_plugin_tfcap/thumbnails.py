"""Small pictures, as they are kept in a log."""

import io
import os

import numpy as np

#: Pixels of the longer side.
SIZE = 128


def thumbnail(image, size=SIZE) -> bytes:
    """An image as a small JPEG.

    Args:
        image: Array of shape `(height, width, 3)` or `(height, width)`,
            integers in `[0, 255]` or floats in `[0, 1]`; or a path of a file.
        size: Integer, pixels of the longer side at most. Defaults to `128`.

    Raises:
        ImportError: If Pillow is not installed.

    Example:

    >>> from tensorboard_plugin_tfcap.thumbnails import thumbnail
    >>> thumbnail(np.zeros((200, 100, 3), "uint8"))[:2]
    b'\\xff\\xd8'
    """
    # Imported here: who draws curves need not draw pictures.
    from PIL import Image

    if isinstance(image, str | os.PathLike):
        drawn = Image.open(image)
    else:
        pixels = np.asarray(image)
        if pixels.dtype.kind == "f":
            pixels = np.rint(np.clip(pixels, 0, 1) * 255)
        drawn = Image.fromarray(pixels.astype("uint8"))
    drawn = drawn.convert("RGB")
    drawn.thumbnail((size, size))
    file = io.BytesIO()
    drawn.save(file, "JPEG", quality=82)
    return file.getvalue()
