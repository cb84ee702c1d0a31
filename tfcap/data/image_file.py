"""Image files: their paths, opening them, and the list of unreadable ones."""

import contextlib
import errno
import json
import os
import struct
import threading
import warnings
import zlib
from collections.abc import Sequence

import numpy as np

from tfcap._io import malformed
from tfcap._io import read_sealed
from tfcap._io import sealed
from tfcap._io import whole_file
from tfcap._io.file_limits import limit
from tfcap._io.file_limits import raise_limit

#: Errors of Pillow at a file that is cut off or damaged, which depend on
#: where it is; a length in it may be more than there is memory.
UNREADABLE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError),
    *(OSError, RuntimeError, SyntaxError, TypeError, ValueError),
    *(struct.error, zlib.error),
)
#: Errors of the system that other files need not have.
_OF_ONE_FILE = (
    *(errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR, errno.EISDIR),
    errno.ENAMETOOLONG,
)
_LIMIT = "TFCAP_MAX_IMAGE_PIXELS"
#: To be read by a program, which Pillow starts.
_PROGRAMS = ("EPS",)
#: Pixels of images that are not read beside each other.
_LARGE = 1 << 24
_one_large = threading.Lock()
_FOLDERS = {
    "train2014": ("train2014", "COCO_train2014_{:012d}.jpg"),
    "val2014": ("val2014", "COCO_val2014_{:012d}.jpg"),
    "val2018": (
        "VisualDialog_val2018",
        "VisualDialog_val2018_{:012d}.jpg",
    ),
    "test2018": (
        "VisualDialog_test2018",
        "VisualDialog_test2018_{:012d}.jpg",
    ),
}
_ENDING = ".skipped.json"
_HINT = "Run the same extraction again, which writes it again."


@contextlib.contextmanager
def open_image(path: str | os.PathLike):
    """Opens an image file, if it may be decoded in the memory at hand.

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
    with open(path, "rb") as file, contextlib.ExitStack() as stack:
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


def upright(picture):
    """A picture as its camera was held, by what the camera noted of it.

    Args:
        picture: `PIL.Image.Image`; one whose note is damaged stays as it is.
    """
    from PIL import Image

    # Before the note is read: what is wrong with the pixels is to be raised.
    picture.load()
    try:
        note = picture.getexif().get(0x0112)
    except UNREADABLE:
        note = None
    names = (
        *("FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM", "TRANSPOSE"),
        *("ROTATE_270", "TRANSVERSE", "ROTATE_90"),
    )
    turns = dict(enumerate(names, start=2))
    if note not in turns:
        return picture
    return picture.transpose(Image.Transpose[turns[note]])


def raise_if_disk(error, path):
    """Raises an error of reading an image that is no fault of the image.

    Raises:
        OSError: If the disk failed, or if the process can open no file.
    """
    code = getattr(error, "errno", None)
    if code in _OF_ONE_FILE:
        return
    if code is not None:
        raise OSError(code, os.strerror(code), str(path)) from error


def as_rgb(picture):
    """A picture in red, green and blue of 8 bits, from 16 bits of gray, too.

    Pillow takes numbers above 255 for white.

    Raises:
        ValueError: If it has numbers whose range is unknown. The message is a
            clause.
    """
    from PIL import Image

    # Some formats and versions of Pillow hold 16 bits as 32.
    sixteen = picture.mode == "I" and picture.format in ("PNG", "PPM")
    if picture.mode.startswith("I;16") or sixteen:
        values = np.asarray(picture).astype(np.uint32)
        picture = Image.fromarray(((values + 128) // 257).astype(np.uint8))
    elif picture.mode in ("I", "F"):
        raise ValueError(
            f"its pixels are of Pillow's mode {picture.mode!r}, whose black "
            "and white are not known: save it with 8 or 16 bits"
        )
    return picture.convert("RGB")


def _too_many(pixels):
    return (
        f"it has {pixels} pixels, and {limit(_LIMIT):,} are read. "
        f"{raise_limit(_LIMIT)[:-1]}"
    )


def coco_image_path(root: str | os.PathLike, image_id: int, split: str) -> str:
    """Path of an image of VisDial, as COCO and VisDial publish them.

    Version 0.9 trains on `train2014` and validates on `val2014`; version 1.0
    trains on both, and has images of its own, `val2018` and `test2018`.

    Args:
        root: String or path of the folder that the archives were unpacked in.
        image_id: Integer.
        split: String, one of `"train2014"`, `"val2014"`, `"val2018"`,
            `"test2018"`, or `"2014"` for whichever of the first two has it.

    Returns:
        String. That the file exists is not checked, but for `"2014"`.

    Raises:
        FileNotFoundError: If `split` is `"2014"` and neither folder has it.

    Example:

    >>> tfcap.data.coco_image_path("coco", 9, "val2014")
    'coco/val2014/COCO_val2014_000000000009.jpg'
    """
    if split == "2014":
        for name in ("train2014", "val2014"):
            path = coco_image_path(root, image_id, name)
            if os.path.exists(path):
                return path
        raise FileNotFoundError(
            f"`image_id` must be in train2014 or val2014 of {str(root)!r}. "
            f"Received: image_id={image_id}. Unpack both COCO archives there."
        )
    if split not in _FOLDERS:
        raise ValueError(
            f"`split` must be one of {', '.join(_FOLDERS)}, 2014. Received: "
            f"split={split!r}."
        )
    folder, name = _FOLDERS[split]
    return os.path.join(root, folder, name.format(int(image_id)))


def load_skipped(path: str | os.PathLike) -> dict:
    """Images that were left out when features were extracted, and why.

    `extract_features(skip_unreadable=True)` leaves out what cannot be read,
    and writes this list, `PATH.skipped.json`, beside the feature file.

    Args:
        path: String or path of the feature file.

    Returns:
        Dict of image id to a string, the reason. Empty where there is no
        list.

    Raises:
        ValueError: If the list is damaged.

    Example:

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "features.h5")
    >>> colors = tfcap.data.Backbone("colors", "", (2, 2), "unit", lambda x: x)
    >>> images = [(7, np.eye(2) * 255), (9, "no such file.jpg")]
    >>> tfcap.data.extract_features(
    ...     colors, images, path, progress=False, skip_unreadable=True
    ... )
    1 of 2 images could not be read and are left out: 9. .../features.h5.ski...
    >>> tfcap.data.load_skipped(path)
    {9: "no such file.jpg ([Errno 2] No such file or directory: ...)"}
    >>> tfcap.data.load_features(path, [7]).shape
    (1, 4, 3)
    """
    path = skipped_path(path)
    try:
        content = read_sealed(path, _HINT)
    except FileNotFoundError:
        return {}
    try:
        return {image_id: reason for image_id, reason in content["skipped"]}
    except (KeyError, TypeError, ValueError) as error:
        problem = "there is no list of images that were left out"
        raise malformed(path, "", problem, _HINT) from error


def save_skipped(path: str | os.PathLike, skipped: dict):
    """Writes the list of images that were left out, or removes it."""
    path = skipped_path(path)
    if not skipped:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    with whole_file(path, "w") as file:
        json.dump(sealed({"skipped": [*skipped.items()]}), file, indent=1)


def skipped_path(path):
    """Path of the list beside a feature file, where a link leads."""
    return f"{os.path.realpath(path)}{_ENDING}"


def warn_of_skipped(path: str | os.PathLike, count: int, total: int):
    """Warns of images that have no features since they were left out."""
    if count:
        warnings.warn(
            f"{path} lacks {count:,} of {total:,} images, which could not be "
            f"read when features were extracted: see {skipped_path(path)}.",
            stacklevel=3,
        )


def rows_with_features(
    image_ids: Sequence[int | str], path: str | os.PathLike
) -> list:
    """Rows of images that were not left out; warns of the others.

    Args:
        image_ids: Sequence of integers or strings.
        path: String or path of the feature file.

    Returns:
        List of integers.

    Example:

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "features.h5")
    >>> tfcap.data.rows_with_features([7, 9], path)
    [0, 1]
    """
    skipped = load_skipped(path)
    rows = [row for row, i in enumerate(image_ids) if i not in skipped]
    warn_of_skipped(path, len(image_ids) - len(rows), len(image_ids))
    return rows
