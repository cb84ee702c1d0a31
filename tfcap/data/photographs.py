"""Image files, found by name and read as pixels."""

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

#: Endings of the names of image files.
IMAGE_ENDINGS = (
    *(".jpg", ".jpeg", ".jfif", ".png", ".webp", ".avif", ".bmp", ".gif"),
    *(".tif", ".tiff"),
)


class Photographs:
    """Pixels of photographs by row, for pages and the Trade-off tab.

    Pass it as any argument `images`; file names are shown beside pictures.
    Names may come from an untrusted file of captions: they are only compared
    with the names of the files in the folder.

    Args:
        folder: String or path; photographs may be in its subfolders. `None`
            shows names only.
        filenames: Sequence of strings, one per row, such as
            `CaptionSplit.filenames`: a path within `folder`, or a file name
            that only one file has and that no other of the names leads to.
        size: Integer, maximum pixels of the longer side. Defaults to `480`.

    Attributes:
        missing: List of strings, the names without a file in the folder.

    Call arguments:
        row: Integer.

    Returns:
        Uint8 array of shape `(height, width, 3)`, upright; `None` for a
        missing photograph or, with a warning, a damaged one.

    Raises:
        ValueError: If `folder` has none of the photographs.
        OSError: If `folder`, or a folder in it, cannot be read.

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
                f"({listed(self.missing)}). Name the folder that has them."
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
                # A large photograph is decoded in a twelfth of the time.
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
    """Finds the images in a folder and its subfolders.

    Files and folders whose names begin with a dot are left out, such as the
    `._a.jpg` of a macOS archive. Links to folders are not followed.

    Args:
        folder: String or path.
        argument: String, name of the folder in error messages. Defaults to
            `"folder"`.
        tell: Boolean, whether to report other files on standard error.
            Defaults to `False`.

    Returns:
        Dict from paths relative to the folder, with slashes, to paths.

    Raises:
        ValueError: If the folder has no image.
        OSError: If the folder, or a folder in it, cannot be read.

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
    """Returns the relative paths of the files below a folder, sorted."""

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
    """Finds images by relative path, else by a file name that is unique.

    A file name finds a file only if no other of the names leads to that file,
    since cameras reuse names.
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
        ValueError: If the file is not an image, is damaged, or has more than
            twice `PIL.Image.MAX_IMAGE_PIXELS`. The message is a clause.
        OSError: If there is no such file, or if the disk fails.
    """
    from PIL import Image

    Image.init()
    # Pillow runs an external program for EPS.
    formats = [name for name in Image.ID if name != "EPS"]
    try:
        with Image.open(path, formats=formats) as opened:
            yield opened
    except Exception as error:
        # Pillow has no class for a damaged file; system errors have a number.
        if getattr(error, "errno", None) is not None:
            raise
        raise ValueError(str(error) or repr(error)) from error


def upright(picture):
    """Turns a picture upright by its EXIF orientation.

    Args:
        picture: `PIL.Image.Image`; one with damaged EXIF data is not turned.
    """
    from PIL import ImageOps

    # Damaged pixels must raise here; damaged EXIF data only warn.
    picture.load()
    try:
        ImageOps.exif_transpose(picture, in_place=True)
    except Exception as error:
        warnings.warn(f"The EXIF data are damaged: {error}", stacklevel=2)
    return picture


def as_rgb(picture):
    """Converts a picture to 8-bit RGB, also from 16-bit gray.

    Pillow alone would turn all values above 255 white.

    Raises:
        ValueError: If the range of the pixels is unknown. The message is a
            clause.
    """
    from PIL import Image

    # Pillow reads 16 bits as 32 in some formats and versions.
    sixteen = picture.mode == "I" and picture.format in ("PNG", "PPM")
    if picture.mode.startswith("I;16") or sixteen:
        values = np.asarray(picture).astype(np.uint32)
        picture = Image.fromarray(((values + 128) // 257).astype(np.uint8))
    elif picture.mode in ("I", "F"):
        raise ValueError(
            f"its pixels have Pillow's mode {picture.mode!r}, whose range is "
            "unknown: save it with 8 or 16 bits"
        )
    return picture.convert("RGB")
