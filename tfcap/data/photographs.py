"""Photographs: files of images, found by their names and read as pixels."""

import contextlib
import os
import sys
import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tfcap._printed import printed
from tfcap.data.entry_problems import listed

#: How names of image files end.
IMAGE_ENDINGS = (
    *(".jpg", ".jpeg", ".jfif", ".png", ".webp", ".avif", ".bmp", ".gif"),
    *(".tif", ".tiff"),
)


class Photographs:
    """Pixels of photographs by row, for pages and the Trade-off tab.

    Goes wherever `images` is asked for; file names are shown beside pictures.
    Names are those of a file of captions, which may be anybody's: they are
    only compared with those of the files in the folder.

    Args:
        folder: String or path; photographs may lie in folders within. `None`
            shows names alone.
        filenames: Sequence of strings, one a row, as
            `CaptionSplit.filenames`: a path within `folder`, or the last part
            of one where a single file has that name, and no other of the
            names is that file's.
        size: Integer, pixels of the longer side at most. Defaults to `480`.

    Attributes:
        missing: List of strings, the names that are not in the folder.

    Call arguments:
        row: Integer.

    Returns:
        Called, a uint8 array of shape `(height, width, 3)`, upright; `None`
        for a photograph that is missing, or damaged, which is warned of.

    Raises:
        ValueError: If `folder` has none of the photographs.
        OSError: If it, or a folder in it, cannot be read.

    Example:

    >>> import os, tempfile
    >>> from PIL import Image
    >>> folder = tempfile.mkdtemp()
    >>> Image.new("RGB", (40, 30)).save(os.path.join(folder, "cat.jpg"))
    >>> images = tfcap.data.Photographs(folder, ["cat.jpg"], size=20)
    >>> images(0).shape
    (15, 20, 3)
    """

    __repr__ = printed

    def __init__(
        self,
        folder: str | os.PathLike | None,
        filenames: Sequence[str],
        size: int = 480,
    ):
        self.filenames = list(filenames)
        self.size = size
        self.missing = []
        self._paths = [None] * len(self.filenames)
        if folder is None:
            return
        self._paths = find_images(image_files(folder), self.filenames)
        self.missing = [
            name or f"row {row}"
            for row, name in enumerate(self.filenames)
            if self._paths[row] is None
        ]
        if len(self.missing) == len(self.filenames):
            raise ValueError(
                "`folder` must hold the photographs. Received: folder="
                f"{str(folder)!r}, which has none of {len(self.missing):,} "
                f"({listed(self.missing)}). Name the folder in which they lie."
            )
        if self.missing:
            warnings.warn(
                f"{str(folder)!r} lacks {len(self.missing):,} of "
                f"{len(self.filenames):,} photographs, which are shown by "
                f"their names alone: {listed(self.missing)}.",
                stacklevel=2,
            )

    def __call__(self, row: int) -> NDArray | None:
        path = self._paths[row]
        if path is None:
            return None
        try:
            with open_image(path) as opened:
                # A twelfth of the work, of a photograph of today.
                opened.draft("RGB", (self.size, self.size))
                picture = as_rgb(upright(opened))
        except (OSError, ValueError) as error:
            warnings.warn(
                f"{path!r} cannot be read, and is shown by its name alone "
                f"({error}).",
                stacklevel=2,
            )
            return None
        picture.thumbnail((self.size, self.size))
        return np.asarray(picture, np.uint8)


def image_files(
    folder: str | os.PathLike, argument: str = "folder", tell: bool = False
) -> dict[str, str]:
    """Paths of the images in a folder and those within, by name.

    Files and folders whose names begin with a dot are left out, such as the
    `._a.jpg` of a Mac's archive. Links to folders are not followed.

    Args:
        folder: String or path.
        argument: String, what the folder is called in errors. Defaults to
            `"folder"`.
        tell: Boolean, whether to say on standard error which other files
            there are. Defaults to `False`.

    Returns:
        Dict of paths by path below the folder, with slashes.

    Raises:
        ValueError: If there is no image in it.
        OSError: If it, or one of the folders in it, cannot be read.

    Example:

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "b.jpg").touch(), (folder / "notes.txt").touch()
    (None, None)
    >>> [*tfcap.data.image_files(folder)]
    ['b.jpg']
    """
    names = names_below(folder)
    images = [name for name in names if name.lower().endswith(IMAGE_ENDINGS)]
    if not images:
        raise ValueError(
            f"`{argument}` must hold images. Received: {str(folder)!r} without "
            f"a file that ends in {', '.join(IMAGE_ENDINGS)}."
        )
    others = sorted({*names}.difference(images))
    if tell and others:
        print(
            f"{len(others):,} of {len(images) + len(others):,} files in "
            f"{str(folder)!r} are left out: {listed(others)}. Names of images "
            f"end in {', '.join(IMAGE_ENDINGS)}.",
            file=sys.stderr,
        )
    return {
        name.replace(os.sep, "/"): os.path.join(folder, name) for name in images
    }


def names_below(folder: str | os.PathLike) -> list[str]:
    """Paths of files below a folder, sorted."""

    def fail(error):
        raise error

    found = []
    for root, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if name[0] != "."]
        paths = (os.path.join(root, x) for x in names if x[0] != ".")
        found += [os.path.relpath(path, folder) for path in paths]
    return sorted(found)


def find_images(
    files: dict[str, str], filenames: Sequence[str]
) -> list[str | None]:
    """Paths of images by whole name, else by a last part that one file has.

    A file is found by its last part for one name only, and for none if it has
    the whole of another's: cameras give the same names again.
    """
    last = {os.path.basename(name): path for name, path in files.items()}
    count = Counter(map(os.path.basename, files))
    unique = {name: path for name, path in last.items() if count[name] == 1}
    found = {
        name: files.get(name, unique.get(os.path.basename(name)))
        for name in filenames
    }
    uses = Counter(found.values())
    return [
        found[name] if name in files or uses[found[name]] == 1 else None
        for name in filenames
    ]


@contextlib.contextmanager
def open_image(path: str | os.PathLike):
    """Opens an image file.

    Yields:
        `PIL.Image.Image`, not decoded yet.

    Raises:
        ValueError: If it is not an image, or damaged, or beyond twice
            `PIL.Image.MAX_IMAGE_PIXELS`; the message is a clause.
        OSError: If there is no such file, or if the disk fails.
    """
    from PIL import Image

    Image.init()
    # Pillow starts a program for EPS.
    formats = [name for name in Image.ID if name != "EPS"]
    try:
        with Image.open(path, formats=formats) as opened:
            yield opened
    except Exception as error:
        # Pillow has no class for a damaged file; the system numbers its own.
        if getattr(error, "errno", None) is not None:
            raise
        raise ValueError(str(error) or repr(error)) from error


def upright(picture):
    """A picture as its camera was held, by what the camera noted of it.

    Args:
        picture: `PIL.Image.Image`; one whose note is damaged stays as it is.
    """
    from PIL import ImageOps

    # Before the note is read: what is wrong with the pixels is to be raised.
    picture.load()
    try:
        ImageOps.exif_transpose(picture, in_place=True)
    except Exception as error:
        warnings.warn(f"The note of a camera is damaged: {error}", stacklevel=2)
    return picture


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
