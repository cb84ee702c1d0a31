"""Features of videos: reading frames, and running a backbone over them."""

import os

import numpy as np
from numpy.typing import NDArray

from tfcap._io.file_limits import limit
from tfcap._io.file_limits import raise_limit
from tfcap.data.extraction import SKIP
from tfcap.data.extraction import as_picture
from tfcap.data.extraction import fit_picture
from tfcap.data.extraction import grid_shape
from tfcap.data.extraction import write_features
from tfcap.data.feature_writer import FeatureWriter
from tfcap.data.image_file import UNREADABLE
from tfcap.data.image_file import open_image
from tfcap.data.image_file import raise_if_disk
from tfcap.data.step_pipeline import check_batch_size


def extract_video_features(
    backbone,
    videos,
    path: str | os.PathLike,
    frames: int = 8,
    differences: bool = False,
    batch_size: int = 4,
    progress: bool = True,
    skip_unreadable: bool = False,
):
    """Writes features of videos, a vector a frame, to a feature file.

    The file is that of images, `(n, P, D)`, with a frame where an image has a
    position: `P = frames`, each frame the mean of its grid. So every speaker
    takes videos. Show-and-tell averages the frames, as the published models of
    TGIF do; the others attend to them.

    Neither knows which frame comes first. With `differences`, what has
    changed since the frame before stands beside what is there, see
    `frame_differences()`, and tells.

    Called again with the same arguments after an interruption, it goes on
    with the videos that are not done; a finished file is left as it is.

    Args:
        backbone: `Backbone`, such as `vgg19_backbone("imagenet")`.
        videos: Sequence of pairs: video id, an integer or a string, and the
            path of a GIF or of another animation that Pillow reads, or an
            array of shape `(F, height, width, 3)` with values 0 to 255.
            Frames are stretched to the backbone's input size.
        path: String or path of the HDF5 file.
        frames: Integer, frames that are taken of each video, as evenly as they
            come; a video of fewer repeats some. Defaults to `8`.
        differences: Boolean, whether to add the differences, which doubles D.
            Defaults to `False`.
        batch_size: Integer, videos in a batch. Defaults to `4`.
        progress: Boolean, whether to show a progress bar.
        skip_unreadable: Boolean, see `extract_features()`. Defaults to
            `False`.

    Raises:
        ValueError: If a video cannot be read, or if the file was begun
            otherwise; names the video or the file.

    Example: TGIF's videos are `[(name, f"gifs/{name}.gif") for name in
    split.image_ids]`; here, one that brightens.

    >>> import os, tempfile
    >>> colors = tfcap.data.Backbone("colors", "", (2, 2), "unit", lambda x: x)
    >>> video = np.full((3, 2, 2, 3), 51.0) * np.arange(3)[:, None, None, None]
    >>> path = os.path.join(tempfile.mkdtemp(), "videos.h5")
    >>> tfcap.data.extract_video_features(
    ...     colors, [("brighter", video)], path, frames=3, progress=False
    ... )
    >>> tfcap.data.load_features(path, ["brighter"])[0, :, 0]
    array([0. , 0.2, 0.4], dtype=float16)
    """
    if frames < 1:
        raise ValueError(
            f"`frames` must be at least 1. Received: frames={frames}."
        )
    check_batch_size(batch_size)
    *_, size = grid_shape(backbone)

    def encode(pixels):
        flat = pixels.reshape(-1, *pixels.shape[2:])
        means = backbone(flat).mean(axis=(1, 2))
        vectors = means.reshape(len(pixels), frames, size)
        return frame_differences(vectors) if differences else vectors

    with FeatureWriter(
        path,
        [video_id for video_id, _ in videos],
        (frames, 1),
        size * 2 if differences else size,
        backbone=backbone.name,
        layer=backbone.layer + ", mean of each frame",
        input_size=backbone.input_size,
        preprocessing=backbone.preprocessing,
    ) as writer:
        write_features(
            writer,
            [video for _, video in videos],
            read=lambda video: read_frames(video, frames, backbone.input_size),
            encode=encode,
            batch_size=batch_size,
            unit_name="video" if progress else None,
            skip_unreadable=skip_unreadable,
        )


def frame_differences(features: NDArray) -> NDArray:
    """Adds to each frame what has changed since the one before.

    ```
    out[:, f] = concat(features[:, f], features[:, f] - features[:, f - 1])
    ```

    with zeros for the first frame. Over the frames, the second half has the
    mean `(last - first) / F`: what a mean of frames alone cannot tell.

    Args:
        features: Float array of shape `(n, F, D)`.

    Returns:
        Float array of shape `(n, F, 2 * D)`.

    Example:

    >>> tfcap.data.frame_differences(np.array([[[1.0], [3.0], [2.0]]]))[0]
    array([[ 1.,  0.],
           [ 3.,  2.],
           [ 2., -1.]])
    """
    change = np.diff(features, axis=1, prepend=features[:, :1])
    return np.concatenate([features, change], axis=-1)


def even_frames(total: int, frames: int) -> NDArray:
    """Numbers of the frames to take: the middles of equal pieces of a video.

    Returns:
        Integer array of shape `(frames,)`, ascending.

    Example:

    >>> from tfcap.data.video_extraction import even_frames
    >>> even_frames(40, 4), even_frames(2, 4)
    (array([ 5, 15, 25, 35]), array([0, 0, 1, 1]))
    """
    return (2 * np.arange(frames) + 1) * total // (2 * frames)


def read_frames(video, frames: int, size: tuple[int, int]) -> NDArray:
    """Reads some frames of a video as RGB and stretches them to a size.

    Args:
        video: Path of an animation, or array of shape `(F, height, width, 3)`
            with values 0 to 255.

    Returns:
        Float32 array of shape `(frames, height, width, 3)`, values 0 to 255.
    """
    in_file = isinstance(video, str | os.PathLike)
    try:
        if in_file:
            return _read_animation(video, frames, size)
        chosen = [video[row] for row in even_frames(len(video), frames)]
        return np.stack([fit_picture(as_picture(x), size) for x in chosen])
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        what = video if in_file else type(video)
        raise_if_disk(error, what)
        raise ValueError(
            "`videos` must be readable animations or arrays (F, height, width, "
            f"3). Received: {str(what)!r} ({error}). Download the video again, "
            f"or {SKIP}."
        ) from error


def _read_animation(path, frames, size):
    with open_image(path) as opened:
        chosen = even_frames(getattr(opened, "n_frames", 1), frames)
        _check_length(opened, int(chosen[-1]) + 1)
        pictures = {}
        # Most frames hold but what changes: each is read on top of the last.
        for number in np.unique(chosen).tolist():
            opened.seek(number)
            pictures[number] = fit_picture(opened, size)
    return np.stack([pictures[number] for number in chosen.tolist()])


def _check_length(opened, count):
    """Refuses a video that would take hours to decode."""
    name = "TFCAP_MAX_VIDEO_PIXELS"
    if count * opened.width * opened.height > limit(name):
        raise ValueError(
            f"it has {count:,} frames of {opened.width}x{opened.height} up to "
            f"the last one to be taken, more than {limit(name):,} pixels. "
            f"{raise_limit(name)[:-1]}"
        )
