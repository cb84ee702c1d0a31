"""Opening image files, which may be damaged or made to do harm."""

import contextlib
import os
import struct
import threading
import zlib

from tfcap.io.file_limits import limit
from tfcap.io.file_limits import raise_limit
from tfcap.io.json_file import open_once

#: Errors of Pillow at a file that is cut off or damaged, which depend on
#: where it is.
UNREADABLE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError),
    *(OSError, RuntimeError, SyntaxError, TypeError, ValueError),
    *(struct.error, zlib.error),
)
_LIMIT = "TFCAP_MAX_IMAGE_PIXELS"
#: To be read by a program, which Pillow starts.
_PROGRAMS = ("EPS",)
#: Pixels of images that are not read beside each other.
_LARGE = 1 << 24
_one_large = threading.Lock()


@contextlib.contextmanager
def open_image(path):
    """Opens an image file, if it may be decoded in the memory at hand.

    Args:
        path: String or path.

    Yields:
        `PIL.Image.Image`, not decoded yet.

    Raises:
        ValueError: If it has more than `TFCAP_MAX_IMAGE_PIXELS` pixels, or is
            of a kind that another program would have to read.
        OSError: If it is no image, or if there is no such file.
    """
    from PIL import Image

    Image.init()
    formats = [name for name in Image.ID if name not in _PROGRAMS]
    # Beyond twice its own limit, Pillow reads nothing.
    if Image.MAX_IMAGE_PIXELS is not None and _LIMIT in os.environ:
        Image.MAX_IMAGE_PIXELS = max(Image.MAX_IMAGE_PIXELS, limit(_LIMIT))
    with open_once(path) as file, contextlib.ExitStack() as stack:
        try:
            opened = stack.enter_context(Image.open(file, formats=formats))
            pixels = opened.width * opened.height
            if pixels > limit(_LIMIT):
                raise ValueError(_too_many(f"{opened.width}x{opened.height}"))
            if pixels > _LARGE:
                stack.enter_context(_one_large)
            yield opened
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise ValueError(_too_many("too many")) from None


def _too_many(pixels):
    return (
        f"it has {pixels} pixels, and {limit(_LIMIT):,} are read. "
        f"{raise_limit(_LIMIT)[:-1]}"
    )
