"""The synthetic world on disk: built from a seed in seconds, once."""

import functools
import hashlib
import json
import os
import pathlib
import shutil
import sys
import time
from collections.abc import Callable

import numpy as np

from reproduce.locks import locked
from reproduce.world.candidates import build_options
from reproduce.world.captions import describe
from reproduce.world.captions import describe_video
from reproduce.world.clips import render_videos
from reproduce.world.clips import sample_video
from reproduce.world.dialogs import make_dialog
from reproduce.world.formats import write_dense_annotations
from reproduce.world.formats import write_karpathy
from reproduce.world.formats import write_tgif
from reproduce.world.formats import write_visdial
from reproduce.world.render import render
from reproduce.world.scenes import sample_scene
from tfcap._io import make_folder
from tfcap._io import partial_path
from tfcap._io import remove_abandoned
from tfcap._io import rename
from tfcap._io import sync_tree
from tfcap._io import told_if_full

#: A world's splits, in the order in which a data set holds them.
SPLITS = ("train", "val", "test")
# Raise them with every change of the contents of a world.
VERSION, VIDEO_VERSION = 3, 1
# Fewer dialogs do not hold enough distinct answers for 100 candidates.
_LEAST_TRAIN = 50
_LIST = "world.json"


class _Built:
    """A built folder and its seed and sizes.

    The files hold images, captions and dialogs alone. The truth is drawn again
    from the seed, which takes seconds.
    """

    def __init__(self, root: str | os.PathLike, about: dict):
        self.root, self.about = pathlib.Path(root), about

    def _pixels(self, name, split):
        path = self.root / f"{name}_{split}.npy"
        return np.load(path, mmap_mode="r")


class World(_Built):
    """A built world: its files, and their contents.

    Obtained from `load_world()`. The caption and dialog files have the
    layouts of the published data sets, so the loaders of those read them.

    Args:
        root: Directory that `load_world()` has built.
        about: Dict of its `version`, `seed` and `sizes`.
    """

    def images(self, split):
        """Pixels, uint8 array of shape `(B, 64, 64, 3)`, mapped from disk."""
        return self._pixels("images", split)

    def image_ids(self, split):
        """Integers, unique over the splits, in the order of the images."""
        sizes = self.about["sizes"]
        before = SPLITS[: SPLITS.index(split)]
        first = 1 + sum(sizes[name] for name in before)
        return list(range(first, first + sizes[split]))

    def scenes(self, split):
        """List of `Scene`, the truth about each image, in their order."""
        return _scenes(self.about, split)[0]

    def dialogs(self, split):
        """List of `WorldDialog`, with the truth of each round, in order."""
        return _said(*_scenes(self.about, split), self.about)[1]

    @property
    def karpathy_path(self):
        """Captions of all splits, in the layout of `dataset_coco.json`."""
        return self.root / "dataset_world.json"

    def visdial_path(self, split):
        """Dialogs of a split, in the layout of VisDial v1.0."""
        return self.root / f"visdial_world_{split}.json"

    def dense_path(self, split):
        """Relevance of each candidate, as VisDial's dense annotations."""
        name = f"visdial_world_{split}_dense_annotations.json"
        return self.root / name


class VideoWorld(_Built):
    """A built world of videos: its files, and their contents.

    Obtained from `load_video_world()`. The captions have the layout of TGIF,
    so `load_captions()` reads them.

    Args:
        root: Directory that `load_video_world()` has built.
        about: Dict of its `version`, `seed` and `sizes`.
    """

    def frames(self, split):
        """Pixels, uint8 `(B, 8, 64, 64, 3)`, mapped from disk."""
        return self._pixels("frames", split)

    def video_ids(self, split):
        """Names, unique over the splits, in the order of the videos."""
        count = self.about["sizes"][split]
        return [f"world_{split}_{number:06d}" for number in range(count)]

    def videos(self, split):
        """List of `Video`, the truth about each, in their order."""
        return _drawn(sample_video, self.about, split)[0]

    @property
    def tgif_path(self):
        """Captions of all splits, in the layout of `tgif-v1.0.tsv`."""
        return self.root / "tgif-v1.0.tsv"


def load_world(
    root: str | os.PathLike | None = None,
    seed: int = 0,
    train=8000,
    val: int = 1000,
    test: int = 1000,
    progress: bool = True,
    easy: bool = False,
) -> World:
    """Returns the synthetic world, built first if necessary.

    Of several processes, one builds it: see `built_folder()`.

    Args:
        train: Integer of at least 50, number of images to train on.
        easy: Boolean, whether scenes have three things each, and questions
            are about existence, number and color alone.

    Example:

    >>> import tempfile
    >>> world = reproduce.world.load_world(
    ...     tempfile.mkdtemp(), train=50, val=5, test=5, progress=False
    ... )
    >>> world.images("val").shape, len(world.scenes("train"))
    ((5, 64, 64, 3), 50)
    """
    sizes = _checked(_LEAST_TRAIN, train=train, val=val, test=test)
    about = {"version": VERSION, "seed": seed, "sizes": sizes}
    about |= {"easy": True} if easy else {}
    kind = "easy_world" if easy else "world"
    return World(built_folder(root, kind, about, _write, progress), about)


def load_video_world(
    root: str | os.PathLike | None = None,
    seed: int = 0,
    train: int = 2000,
    val: int = 250,
    test: int = 500,
    progress: bool = True,
) -> VideoWorld:
    """Returns videos of the synthetic world, built first if necessary.

    Of several processes, one builds them: see `built_folder()`.

    Example:

    >>> import tempfile
    >>> world = reproduce.world.load_video_world(
    ...     tempfile.mkdtemp(), train=3, val=1, test=2, progress=False
    ... )
    >>> world.frames("test").shape, world.video_ids("test")[1]
    ((2, 8, 64, 64, 3), 'world_test_000001')
    """
    sizes = _checked(1, train=train, val=val, test=test)
    about = {"version": VIDEO_VERSION, "seed": seed, "sizes": sizes}
    # Folders on disk keep their first name, clips.
    folder = built_folder(root, "clips", about, _write_videos, progress)
    return VideoWorld(folder, about)


def built_folder(
    root: str | os.PathLike | None,
    kind: str,
    about: dict,
    write: Callable,
    progress: bool = True,
) -> pathlib.Path:
    """A folder of files made from a seed, built first if necessary.

    It is named by kind, version, seed and sizes, and appears in one step. Of
    several processes one builds it, and the others wait.

    Args:
        about: Dict of `version` and `seed`, integers, and `sizes`, a dict of
            the number of examples of each of the `SPLITS`.
        write: Function of an empty folder and `about` that fills it.
    """
    cache = os.environ.get("TFCAP_CACHE", pathlib.Path.home() / ".cache/tfcap")
    root = pathlib.Path(root or cache)
    sizes = "_".join(str(about["sizes"][split]) for split in SPLITS)
    folder = root / f"{kind}_v{about['version']}_seed{about['seed']}_{sizes}"
    if _is_whole(folder, about):
        return folder
    make_folder(root)
    with locked(root / f".{folder.name}.lock"):
        if not _is_whole(folder, about):
            started = time.perf_counter()
            _build(folder, about, write)
            if progress:
                seconds = time.perf_counter() - started
                text = f"synthetic world: built in {seconds:.0f} s: {folder}"
                print(text, file=sys.stderr)
    return folder


def _is_whole(folder, about):
    """Checks that all files are there as they were written."""
    try:
        found = json.loads((folder / _LIST).read_text())
        # Folders of earlier versions hold no checksums: they are taken as such.
        sums = found.pop("checksums", {})
        found.pop("files", None)
        return found == about and all(
            _checksum(folder / name) == known for name, known in sums.items()
        )
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # What may not be read at the moment is not built again.
        return False


def _checksum(path):
    """SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _build(folder, about, write):
    remove_abandoned(folder)
    work = partial_path(folder)
    work.mkdir()
    try:
        with told_if_full(folder, "Nothing was built"):
            write(work, about)
            sums = {
                path.relative_to(work).as_posix(): _checksum(path)
                for path in sorted(work.rglob("*"))
                if path.is_file()
            }
            listed = json.dumps({**about, "checksums": sums}, indent=1)
            (work / _LIST).write_text(listed)
            sync_tree(work)
            if folder.exists():
                shutil.rmtree(folder)
            rename(work, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _checked(least_train, **sizes):
    """Sizes of the splits, which must be numbers."""
    for name, size in sizes.items():
        least = least_train if name == "train" else 1
        if not isinstance(size, int) or size < least:
            raise ValueError(
                f"`{name}` must be an integer of at least {least}. Received: "
                f"{name}={size}"
            )
    return sizes


def _drawn(sample, about, split):
    """Scenes or videos of a split, and the generator of what is said."""
    index = SPLITS.index(split)
    rng = np.random.default_rng([about["seed"], index])
    return [sample(rng) for _ in range(about["sizes"][split])], rng


def _scenes(about, split):
    """Scenes of a split, and the generator of what is said."""
    count = 3 if about.get("easy") else None
    return _drawn(functools.partial(sample_scene, count=count), about, split)


def _said(scenes, rng, about):
    """Five captions and a dialog of each scene."""
    captions = [describe(scene, rng) for scene in scenes]
    easy = about.get("easy", False)
    return captions, [
        make_dialog(scene, five[0], rng, easy)
        for scene, five in zip(scenes, captions)
    ]


def _write(folder, about):
    world, captions, corpus = World(folder, about), {}, None
    for split in SPLITS:
        ids = world.image_ids(split)
        scenes, rng = _scenes(about, split)
        sentences, dialogs = _said(scenes, rng, about)
        np.save(folder / f"images_{split}.npy", render(scenes))
        captions[split] = ids, sentences
        corpus = corpus or dialogs
        options = build_options(dialogs, rng, corpus=corpus)
        write_visdial(world.visdial_path(split), split, ids, dialogs, options)
        write_dense_annotations(world.dense_path(split), ids, options)
    write_karpathy(world.karpathy_path, captions)


def _write_videos(folder, about):
    world, captions = VideoWorld(folder, about), {}
    for split in SPLITS:
        videos, rng = _drawn(sample_video, about, split)
        np.save(folder / f"frames_{split}.npy", render_videos(videos))
        sentences = [describe_video(video, rng) for video in videos]
        captions[split] = world.video_ids(split), sentences
    write_tgif(folder, captions)
