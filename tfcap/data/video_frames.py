"""Reading some frames of a video."""

import os

import numpy as np

from tfcap.data.extraction import SKIP
from tfcap.data.extraction import as_picture
from tfcap.data.extraction import fit_picture
from tfcap.data.image_file import UNREADABLE
from tfcap.data.image_file import open_image
from tfcap.io.file_limits import limit
from tfcap.io.file_limits import raise_limit


def even_frames(total, frames):
    """Numbers of the frames to take: the middles of equal pieces of a video.

    Args:
        total: Integer, frames of the video.
        frames: Integer, frames to take.

    Returns:
        Integer array of shape `(frames,)`, ascending.

    Example:

    >>> from tfcap.data.video_frames import even_frames
    >>> even_frames(40, 4), even_frames(2, 4)
    (array([ 5, 15, 25, 35]), array([0, 0, 1, 1]))
    """
    return (2 * np.arange(frames) + 1) * total // (2 * frames)


def read_frames(video, frames, size):
    """Reads some frames of a video as RGB and stretches them to a size.

    Args:
        video: Path of an animation, or array of shape `(F, height, width, 3)`
            with values 0 to 255.
        frames: Integer, frames to take, see `even_frames()`.
        size: Pair of integers, height and width.

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
        raise ValueError(
            "`videos` must be readable animations or arrays (F, height, width, "
            f"3). Received: {str(what)!r} ({error}). Download the video again, "
            f"or {SKIP}."
        ) from error


def _read_animation(path, frames, size):
    with open_image(path) as opened:
        wanted = even_frames(getattr(opened, "n_frames", 1), frames)
        _check_length(opened, int(wanted[-1]) + 1)
        found = {}
        # Most frames hold but what changes: each is read on top of the last.
        for number in np.unique(wanted).tolist():
            opened.seek(number)
            found[number] = fit_picture(opened, size)
    return np.stack([found[number] for number in wanted.tolist()])


def _check_length(opened, count):
    """Refuses a video that would take hours to decode."""
    name = "TFCAP_MAX_VIDEO_PIXELS"
    if count * opened.width * opened.height > limit(name):
        raise ValueError(
            f"it has {count:,} frames of {opened.width}x{opened.height} up to "
            f"the last one to be taken, more than {limit(name):,} pixels. "
            f"{raise_limit(name)[:-1]}"
        )
