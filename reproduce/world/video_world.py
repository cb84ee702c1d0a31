"""Videos of the synthetic world on disk: built from a seed, then cached."""

import functools
import os
import pathlib

import numpy as np

from reproduce.world.built_folder import SPLITS
from reproduce.world.built_folder import built_folder
from reproduce.world.built_folder import checked_sizes
from reproduce.world.built_folder import known_split
from reproduce.world.built_folder import read_about
from reproduce.world.built_folder import read_packed
from reproduce.world.built_folder import tell
from reproduce.world.built_folder import write_packed
from reproduce.world.captions import describe_video
from reproduce.world.formats import write_tgif
from reproduce.world.sampler import sample_video
from reproduce.world.videos import render_videos
from reproduce.world.videos import video_from_dict
from reproduce.world.videos import video_to_dict

# Raise it with every change that alters a file of a built world of videos.
# Folders and files on disk keep their first name, clips.
VIDEO_VERSION = 1


class VideoWorld:
    """A built world of videos: paths of its files, and what they hold.

    Obtained from `load_video_world()`. The captions have the layout of TGIF,
    so `load_captions()` reads them.

    Args:
        root: Directory that `load_video_world()` has built.
    """

    def __init__(self, root: str | os.PathLike):
        self.root = pathlib.Path(root)
        self.about = read_about(self.root)
        self._videos = {}

    def frames(self, split):
        """Pixels, uint8 `(B, 8, 64, 64, 3)`, mapped from disk."""
        path = self.root / f"frames_{known_split(split)}.npy"
        return np.load(path, mmap_mode="r")

    def video_ids(self, split):
        """Names, unique over the splits, in the order of the videos."""
        return _names(known_split(split), self.about["sizes"][split])

    def videos(self, split):
        """List of `Video`, the truth about each, in their order."""
        path = self.root / f"clips_{known_split(split)}.json.gz"
        if split not in self._videos:
            videos = read_packed(path)
            self._videos[split] = [video_from_dict(video) for video in videos]
        return list(self._videos[split])

    @property
    def tgif_path(self):
        """Captions of all splits, in the layout of `tgif-v1.0.tsv`."""
        return self.root / "tgif-v1.0.tsv"


def load_video_world(
    root: str | os.PathLike | None = None,
    seed: int = 0,
    train: int = 2000,
    val: int = 250,
    test: int = 500,
    progress: bool = True,
) -> VideoWorld:
    """Returns videos of the synthetic world, building them if need be.

    A build that was interrupted, or that runs twice at once, does no harm: see
    `built_folder()`.

    Example:

    >>> import tempfile
    >>> world = reproduce.world.load_video_world(
    ...     tempfile.mkdtemp(), train=3, val=1, test=2, progress=False
    ... )
    >>> world.frames("test").shape, world.video_ids("test")[1]
    ((2, 8, 64, 64, 3), 'world_test_000001')
    """
    sizes = checked_sizes({}, train=train, val=val, test=test)
    about = {"version": VIDEO_VERSION, "seed": seed, "sizes": sizes}
    write = functools.partial(_write, progress=progress)
    return VideoWorld(built_folder(root, "clips", about, write, progress))


def _names(split, count):
    return [f"world_{split}_{number:06d}" for number in range(count)]


def _write(folder, about, progress):
    captions = {}
    for index, split in enumerate(SPLITS):
        rng = np.random.default_rng([about["seed"], index])
        count = about["sizes"][split]
        tell(progress, f"{split}: drawing {count} videos")
        videos = [sample_video(rng) for _ in range(count)]
        np.save(folder / f"frames_{split}.npy", render_videos(videos))
        write_packed(
            folder / f"clips_{split}.json.gz", list(map(video_to_dict, videos))
        )
        sentences = [describe_video(video, rng) for video in videos]
        captions[split] = _names(split, count), sentences
    write_tgif(folder, captions)
