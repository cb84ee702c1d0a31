"""Running a backbone over images, into the feature file."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tfcap.data.backbones import named_backbone
from tfcap.data.entry_problems import listed
from tfcap.data.feature_writer import FeatureWriter
from tfcap.data.image_file import UNREADABLE
from tfcap.data.image_file import as_rgb
from tfcap.data.image_file import open_image
from tfcap.data.image_file import raise_if_disk
from tfcap.data.image_file import save_skipped
from tfcap.data.image_file import skipped_path
from tfcap.data.image_file import upright
from tfcap.data.step_pipeline import check_batch_size

#: How to do without images that cannot be read, after another hint.
SKIP = (
    "pass `skip_unreadable=True` (--skip-unreadable) to leave out and list "
    "all such; what is done so far is kept"
)


def extract_features(
    backbone,
    images,
    path: str | os.PathLike,
    batch_size: int = 32,
    progress: bool = True,
    skip_unreadable: bool = False,
):
    """Writes the features of images to a feature file, resumably.

    Called again with the same arguments after an interruption, it goes on
    with the images that are not done; a finished file is left as it is.

    Args:
        backbone: `Backbone`, or the name of one, such as
            `"efficientnet_lite0"`, which needs no download, see
            `named_backbone()`.
        images: Iterable of pairs: image id, an integer or a string, and the
            path of an image file or an array of shape `(height, width, 3)`,
            or `(height, width)` in gray, with values 0 to 255. Images are
            stretched to the backbone's input size.
        path: String or path of the HDF5 file.
        batch_size: Integer. Defaults to `32`.
        progress: Boolean, whether to show a progress bar.
        skip_unreadable: Boolean, whether images that are absent, damaged, or
            larger than is read are left out instead of refused. They are
            reported, and listed beside the file, see `load_skipped()`; called
            again, they are tried again. Defaults to `False`.

    Raises:
        ValueError: If an image cannot be read, or if the file was begun with
            another backbone or other images; names the image or the file.
        OSError: If the disk fails, or if there can be no such file.
    """
    check_batch_size(batch_size)
    if isinstance(backbone, str):
        backbone = named_backbone(backbone)
    height, width, size = grid_shape(backbone)
    images = list(images)
    with FeatureWriter(
        path,
        [image_id for image_id, _ in images],
        (height, width),
        size,
        backbone=backbone.name,
        layer=backbone.layer,
        input_size=backbone.input_size,
        preprocessing=backbone.preprocessing,
    ) as writer:
        write_features(
            writer,
            [image for _, image in images],
            read=lambda image: read_image(image, backbone.input_size),
            encode=lambda pixels: backbone(pixels).reshape(
                len(pixels), height * width, size
            ),
            batch_size=batch_size,
            unit_name="image" if progress else None,
            skip_unreadable=skip_unreadable,
        )


def grid_shape(backbone):
    """Height, width and features of the grid that a `Backbone` gives."""
    blank = np.zeros((1, *backbone.input_size, 3), np.float32)
    return backbone(blank).shape[1:]


def write_features(
    writer: FeatureWriter,
    sources: list,
    read: Callable,
    encode: Callable,
    batch_size: int,
    unit_name: str | None = None,
    skip_unreadable: bool = False,
):
    """Writes the features of what is not done yet, a batch at a time.

    Args:
        read: Function of such a thing that returns an array of pixels; runs
            in threads while the last batch is seen.
        encode: Function of stacked pixels that returns features `(b, P, D)`.
    """
    import keras

    todo = writer.remaining
    bar = keras.utils.Progbar(
        len(sources), verbose=int(unit_name is not None), unit_name=unit_name
    )
    bar.update(len(sources) - len(todo), finalize=not len(todo))
    skipped = {} if skip_unreadable else None
    for rows, pixels in _read_ahead(sources, todo, read, batch_size, skipped):
        writer.write(rows, encode(pixels))
        bar.add(len(rows))
    leave_out(writer, skipped)


def leave_out(writer: FeatureWriter, skipped: dict | None):
    """Lists images that could not be read, and says so.

    Args:
        skipped: Dict of row to a string, the reason; or None.

    Raises:
        ValueError: If all were left out.
    """
    if skipped:
        _tell_skipped(writer, skipped)
    if not len(writer.remaining) or skipped:
        ids = writer.image_ids.tolist()
        skipped = {ids[row]: why for row, why in (skipped or {}).items()}
        save_skipped(writer.path, skipped)


def _tell_skipped(writer, skipped):
    """Says what was left out; refuses to leave out everything."""
    names = [writer.image_ids[row] for row in skipped]
    if not writer.done.any():
        raise ValueError(
            "`images` must be readable. Received: none of "
            f"{len(skipped):,} that is, such as {[*skipped.values()][0]}. See "
            "that the paths are those of the images."
        )
    print(
        f"{len(names):,} of {len(writer.done):,} images could not be read and "
        f"are left out: {listed(names)}. {skipped_path(writer.path)} says why."
    )


def _read_ahead(sources, todo, read, batch_size, skipped=None):
    """Batches of row numbers and pixels, read while the last one is used.

    Where `skipped` is a dict, rows that cannot be read are put into it, with
    the reasons, instead.
    """
    with ThreadPoolExecutor() as pool:

        def begin(start):
            rows = todo[start : start + batch_size]
            return [(row, pool.submit(read, sources[row])) for row in rows]

        ahead = begin(0)
        for start in range(batch_size, len(todo) + batch_size, batch_size):
            futures, ahead = ahead, begin(start)
            pixels = {}
            for row, future in futures:
                try:
                    pixels[row] = future.result()
                except (FileNotFoundError, ValueError) as error:
                    if skipped is None:
                        raise
                    cause = error.__cause__ or error
                    skipped[row] = f"{str(sources[row]):.500} ({cause})"
            if pixels:
                yield np.array([*pixels]), np.stack([*pixels.values()])


def read_image(image, size: tuple[int, int]) -> NDArray:
    """Reads an image as RGB and stretches it to a size.

    Args:
        image: Path of a file, which is turned as its camera noted, or array
            of shape `(height, width, 3)` or `(height, width)` with values 0 to
            255.
        size: Pair of integers, height and width.

    Returns:
        Float32 array of shape `(height, width, 3)`, values 0 to 255; those of
        16 bits of gray are scaled.

    Raises:
        ValueError: If an image cannot be read; names it.
        OSError: If there is no such file, or if the disk fails.

    Example:

    >>> tfcap.data.read_image(np.zeros((3, 4, 3), "uint8"), (2, 2)).shape
    (2, 2, 3)
    """
    try:
        if isinstance(image, str | os.PathLike):
            with open_image(image) as opened:
                return fit_picture(upright(opened), size)
        return fit_picture(as_picture(image), size)
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        what = image if isinstance(image, str | os.PathLike) else type(image)
        raise_if_disk(error, what)
        raise ValueError(
            "`images` must be readable image files or arrays (height, width, "
            f"3). Received: {str(what)!r} ({str(error) or repr(error)}). "
            f"Download the image again, or {SKIP}."
        ) from error


def as_picture(pixels):
    """A Pillow image of an array of values 0 to 255."""
    from PIL import Image

    return Image.fromarray(np.clip(np.asarray(pixels), 0, 255).astype(np.uint8))


def fit_picture(picture, size):
    """A Pillow image as RGB of a size, float32 `(height, width, 3)`."""
    from PIL import Image

    height, width = size
    picture = as_rgb(picture)
    if picture.size != (width, height):
        picture = picture.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(picture, np.float32)
