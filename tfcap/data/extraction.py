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
        images: Sequence of pairs: integer image id, and the path of an image
            file or an array of shape `(height, width, 3)`, or
            `(height, width)` in gray, with values 0 to 255. Images are
            stretched to the backbone's input size.
        path: String or path of the HDF5 file.
        batch_size: Integer. Defaults to `32`.
        progress: Boolean, whether to show a progress bar.

    Raises:
        ValueError: If an image cannot be read, or if the file was begun with
            another backbone or other images; names the image or the file.
    """
    import keras

    image_ids = np.array([image_id for image_id, _ in images], np.int64)
    blank = np.zeros((1, *backbone.input_size, 3), np.float32)
    _, height, width, size = backbone(blank).shape
    with FeatureWriter(
        path,
        image_ids,
        (height, width),
        size,
        backbone=backbone.name,
        layer=backbone.layer,
        input_size=backbone.input_size,
        preprocessing=backbone.preprocessing,
    ) as writer:
        todo = writer.remaining
        bar = keras.utils.Progbar(
            len(image_ids), verbose=int(progress), unit_name="image"
        )
        bar.update(len(image_ids) - len(todo), finalize=not len(todo))
        size_in = backbone.input_size
        for rows, pixels in _read(images, todo, batch_size, size_in):
            grid = backbone(pixels)
            writer.write(rows, grid.reshape(len(rows), height * width, size))
            bar.add(len(rows))


def _read(images, todo, batch_size, size):
    """Batches of row numbers and pixels, read while the last one is used."""
    with ThreadPoolExecutor() as pool:

        def begin(start):
            rows = todo[start : start + batch_size]
            return rows, [
                pool.submit(read_image, images[row][1], size) for row in rows
            ]

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

    height, width = size
    try:
        if isinstance(image, str | os.PathLike):
            with Image.open(image) as opened:
                picture = opened.convert("RGB")
        else:
            pixels = np.clip(np.asarray(image), 0, 255).astype(np.uint8)
            picture = Image.fromarray(pixels).convert("RGB")
    except FileNotFoundError:
        raise
    except (OSError, TypeError, ValueError) as error:
        what = image if isinstance(image, str | os.PathLike) else type(image)
        raise ValueError(
            "`images` must be readable image files or arrays (height, width, "
            f"3). Received: {str(what)!r} ({error}). Download the image "
            "again, or leave it out; what is done so far is kept."
        ) from error
    if picture.size != (width, height):
        picture = picture.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(picture, np.float32)
