"""Running a backbone over images, into the feature file."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tfcap.data.feature_writer import FeatureWriter


def extract_features(backbone, images, path, batch_size=32, progress=True):
    """Writes the features of images to a feature file, resumably.

    Called again with the same arguments after an interruption, it goes on
    with the images that are not done; a finished file is left as it is.

    Args:
        backbone: `Backbone`, such as `vgg19_backbone("imagenet")`.
        images: Sequence of pairs: image id, an integer or a string, and the
            path of an image file or an array of shape `(height, width, 3)`,
            or `(height, width)` in gray, with values 0 to 255. Images are
            stretched to the backbone's input size.
        path: String or path of the HDF5 file.
        batch_size: Integer. Defaults to `32`.
        progress: Boolean, whether to show a progress bar.

    Raises:
        ValueError: If an image cannot be read, or if the file was begun with
            another backbone or other images; names the image or the file.
    """
    height, width, size = grid_shape(backbone)
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
            see=lambda pixels: backbone(pixels).reshape(
                len(pixels), height * width, size
            ),
            batch_size=batch_size,
            unit_name="image" if progress else None,
        )


def grid_shape(backbone):
    """Height, width and features of the grid that a `Backbone` gives."""
    blank = np.zeros((1, *backbone.input_size, 3), np.float32)
    return backbone(blank).shape[1:]


def write_features(writer, sources, read, see, batch_size, unit_name=None):
    """Writes the features of what is not done yet, a batch at a time.

    Args:
        writer: `FeatureWriter`.
        sources: List with a thing to read for each of its rows.
        read: Function of such a thing that returns an array of pixels; runs
            in threads while the last batch is seen.
        see: Function of stacked pixels that returns features `(b, P, D)`.
        batch_size: Integer, things in a batch.
        unit_name: String, what the progress bar counts; or None, for none.
    """
    import keras

    todo = writer.remaining
    bar = keras.utils.Progbar(
        len(sources), verbose=int(unit_name is not None), unit_name=unit_name
    )
    bar.update(len(sources) - len(todo), finalize=not len(todo))
    for rows, pixels in _read_ahead(sources, todo, read, batch_size):
        writer.write(rows, see(pixels))
        bar.add(len(rows))


def _read_ahead(sources, todo, read, batch_size):
    """Batches of row numbers and pixels, read while the last one is used."""
    with ThreadPoolExecutor() as pool:

        def begin(start):
            rows = todo[start : start + batch_size]
            return rows, [pool.submit(read, sources[row]) for row in rows]

        ahead = begin(0)
        for start in range(batch_size, len(todo) + batch_size, batch_size):
            (rows, futures), ahead = ahead, begin(start)
            if len(rows):
                yield rows, np.stack([future.result() for future in futures])


def read_image(image, size):
    """Reads an image as RGB and stretches it to a size.

    Args:
        image: Path of a file, or array of shape `(height, width, 3)` or
            `(height, width)` with values 0 to 255.
        size: Pair of integers, height and width.

    Returns:
        Float32 array of shape `(height, width, 3)`, values 0 to 255.
    """
    from PIL import Image

    try:
        if isinstance(image, str | os.PathLike):
            with Image.open(image) as opened:
                return fit_picture(opened, size)
        return fit_picture(as_picture(image), size)
    except FileNotFoundError:
        raise
    except (OSError, TypeError, ValueError) as error:
        what = image if isinstance(image, str | os.PathLike) else type(image)
        raise ValueError(
            "`images` must be readable image files or arrays (height, width, "
            f"3). Received: {str(what)!r} ({error}). Download the image "
            "again, or leave it out; what is done so far is kept."
        ) from error


def as_picture(pixels):
    """A Pillow image of an array of values 0 to 255."""
    from PIL import Image

    return Image.fromarray(np.clip(np.asarray(pixels), 0, 255).astype(np.uint8))


def fit_picture(picture, size):
    """A Pillow image as RGB of a size, float32 `(height, width, 3)`."""
    from PIL import Image

    height, width = size
    picture = picture.convert("RGB")
    if picture.size != (width, height):
        picture = picture.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(picture, np.float32)
