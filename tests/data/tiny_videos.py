"""A video that gets brighter, as an array and as a GIF."""

import numpy as np
from PIL import Image

SIZE = (4, 6)


def brightening(frames, step=20):
    """A video whose frame f has the gray value f * step."""
    gray = (step * np.arange(frames)).astype(np.uint8)
    return np.broadcast_to(gray[:, None, None, None], (frames, *SIZE, 3))


def write_gif(path, video):
    """Writes an array as an animation; returns the path."""
    first, *rest = map(Image.fromarray, video.copy())
    first.save(path, save_all=True, append_images=rest, optimize=False)
    return path
