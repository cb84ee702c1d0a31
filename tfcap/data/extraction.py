"""Extraction of features of images or videos by a backbone."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tfcap.data.backbones import named_backbone
from tfcap.data.entry_problems import listed
from tfcap.data.features import FeatureWriter
from tfcap.data.photographs import as_rgb
from tfcap.data.photographs import open_image
from tfcap.data.photographs import upright
from tfcap.data.step_pipeline import check_batch_size

#: Errors that concern a single image.
_UNREADABLE = (FileNotFoundError, PermissionError, ValueError)


def extract_features(
    backbone,
    images,
    path: str | os.PathLike,
    batch_size: int = 32,
    progress: bool = True,
    skip_unreadable: bool = False,
    frames: int | None = None,
):
    """Writes the features of images or videos to a feature file, resumably.

    Called again with the same arguments after an interruption, it continues
    with the missing images; a finished file is not changed.

    The positions of a video are its frames, each the mean of its grid, so that
    every speaker takes videos. Show-and-tell averages the frames, as the
    published models of TGIF do; the others attend to them. Neither knows the
    order of the frames.

    Args:
        backbone: `Backbone`, or the name of one, such as
            `"efficientnet_lite0"`, which needs no download, see
            `named_backbone()`.
        images: Iterable of pairs: image id, an integer or a string, and the
            path of an image file or an array of shape `(height, width, 3)`,
            or `(height, width)` in gray, with values 0 to 255. Images are
            stretched to the backbone's input size. Of a video, the path of a
            GIF or of another animation that Pillow reads, or an array of shape
            `(F, height, width, 3)`.
        path: String or path of the file `*.npy`.
        batch_size: Integer. Defaults to `32`.
        progress: Boolean, whether to show a progress bar.
        skip_unreadable: Boolean, whether images that are absent, damaged, or
            too large for Pillow are left out rather than rejected. They are
            reported, also when the features are read. Defaults to `False`.
        frames: Integer, number of evenly spaced frames of each video; a
            shorter video repeats some. Defaults to `None`, for images.

    Raises:
        ValueError: If an image cannot be read, or if the file was begun with
            another backbone or other images.
        OSError: If the disk fails, or the file cannot be made.

    Example: TGIF's videos are `[(name, f"gifs/{name}.gif") for name in
    split.image_ids]`; here, one that brightens, and one that does not.

    >>> import os, tempfile
    >>> colors = tfcap.data.Backbone("colors", "", (2, 2), "unit", lambda x: x)
    >>> video = np.full((3, 2, 2, 3), 51.0) * np.arange(3)[:, None, None, None]
    >>> path = os.path.join(tempfile.mkdtemp(), "videos.npy")
    >>> tfcap.data.extract_features(
    ...     colors,
    ...     [("brighter", video), ("black", 0 * video)],
    ...     path,
    ...     progress=False,
    ...     frames=3,
    ... )
    >>> tfcap.data.load_features(path, ["brighter"])[0, :, 0]
    array([0. , 0.2, 0.4], dtype=float16)
    """
    check_batch_size(batch_size)
    if isinstance(backbone, str):
        backbone = named_backbone(backbone)
    images = list(images)
    blank = np.zeros((1, *backbone.input_size, 3), np.float32)
    height, width, size = backbone(blank).shape[1:]
    layer, grid = backbone.layer, (height, width)
    if frames is not None:
        layer, grid = f"{layer}, mean of each frame", (frames, 1)

    def read(image):
        if frames is None:
            return read_image(image, backbone.input_size)
        return read_frames(image, frames, backbone.input_size)

    def encode(pixels):
        if frames is None:
            return backbone(pixels).reshape(len(pixels), -1, size)
        flat = pixels.reshape(-1, *pixels.shape[2:])
        means = backbone(flat).mean(axis=(1, 2))
        return means.reshape(len(pixels), frames, -1)

    with FeatureWriter(
        path,
        [image_id for image_id, _ in images],
        (grid[0] * grid[1], size),
        backbone=backbone.name,
        layer=layer,
        input_size=backbone.input_size,
        preprocessing=backbone.preprocessing,
        grid=grid,
    ) as writer:
        sources = [image for _, image in images]
        skipped = {} if skip_unreadable else None
        batches = _read_ahead(sources, writer, read, batch_size, skipped)
        _write(writer, batches, encode, progress)
        leave_out(writer, skipped)


def _write(writer, batches, encode, progress):
    """Writes the features of batches of rows and pixels."""
    import keras

    left, total = len(writer.remaining), len(writer.done)
    bar = keras.utils.Progbar(total, verbose=int(progress), unit_name="image")
    bar.update(total - left, finalize=not left)
    for rows, pixels in batches:
        writer.write(rows, encode(pixels))
        bar.add(len(rows))


def leave_out(writer: FeatureWriter, skipped: dict | None):
    """Finishes the file, and reports what was left out.

    Args:
        skipped: Dict of row to a string, the reason; or None.

    Raises:
        ValueError: If all were left out.
    """
    if skipped and not writer.done.any():
        raise ValueError(
            "`images` must be readable. Received: no readable image of "
            f"{len(skipped):,}, such as {[*skipped.values()][0]}. Check the "
            "paths of the images."
        )
    writer.finish(skipped)
    if skipped:
        names = [writer.image_ids[row] for row in skipped]
        print(
            f"{len(names):,} of {len(writer.done):,} images could not be read "
            f"and are left out: {listed(names)}."
        )
        for why in skipped.values():
            print(f"    {why}")


def _read_ahead(sources, writer, read, batch_size, skipped):
    """Batches of row numbers and pixels, read while the last one is used.

    Where `skipped` is a dict, rows that cannot be read are put into it, with
    the reasons, instead.
    """
    todo = writer.remaining
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
                except _UNREADABLE as error:
                    if skipped is None:
                        raise
                    cause = error.__cause__ or error
                    skipped[row] = f"{str(sources[row]):.500} ({cause})"
            if pixels:
                yield np.array([*pixels]), np.stack([*pixels.values()])


def read_image(image, size: tuple[int, int]) -> NDArray:
    """Reads an image as RGB and resizes it.

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

    def picture(opened):
        return _fitted(upright(opened), size)

    return _read(image, picture, lambda pixels: _of_array(pixels, size))


def read_frames(video, frames: int, size: tuple[int, int]) -> NDArray:
    """Reads frames of a video, as `read_image()` reads an image.

    Returns:
        Float32 array of shape `(frames, height, width, 3)`.
    """

    def animation(opened):
        chosen = even_frames(getattr(opened, "n_frames", 1), frames).tolist()
        pictures = {}
        # Most frames hold only what changes, so they are read in order.
        for number in sorted({*chosen}):
            opened.seek(number)
            pictures[number] = _fitted(opened, size)
        return np.stack([pictures[number] for number in chosen])

    def array(pixels):
        chosen = even_frames(len(pixels), frames)
        return np.stack([_of_array(pixels[row], size) for row in chosen])

    return _read(video, animation, array)


def _read(source, of_file, of_array):
    """Reads a file or an array, and reports one that cannot be read."""
    is_path = isinstance(source, str | os.PathLike)
    try:
        if not is_path:
            return of_array(source)
        with open_image(source) as opened:
            return of_file(opened)
    except (IndexError, TypeError, ValueError) as error:
        what = repr(str(source)) if is_path else type(source).__name__
        raise ValueError(
            "`images` must be readable image files or arrays (height, width, "
            f"3). Received: {what} ({error}). Get the image again, or pass "
            "`skip_unreadable=True` (--skip-unreadable) to leave out and list "
            "all such; what is done so far is kept."
        ) from error


def _of_array(pixels, size):
    """Pixels of an array of values 0 to 255, of a size."""
    from PIL import Image

    values = np.clip(np.asarray(pixels), 0, 255).astype(np.uint8)
    return _fitted(Image.fromarray(values), size)


def _fitted(picture, size):
    """A Pillow image as RGB of a size, float32 `(height, width, 3)`."""
    from PIL import Image

    height, width = size
    picture = as_rgb(picture)
    if picture.size != (width, height):
        picture = picture.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(picture, np.float32)


def even_frames(total: int, frames: int) -> NDArray:
    """Returns the numbers of frames in the middles of equal parts of a video.

    Returns:
        Integer array of shape `(frames,)`, ascending.

    Example:

    >>> from tfcap.data.extraction import even_frames
    >>> even_frames(40, 4), even_frames(2, 4)
    (array([ 5, 15, 25, 35]), array([0, 0, 1, 1]))
    """
    return (2 * np.arange(frames) + 1) * total // (2 * frames)
