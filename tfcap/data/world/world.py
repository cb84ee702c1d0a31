"""The embedded world on disk: built from a seed in seconds, then cached."""

import gzip
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

import numpy as np

from tfcap.data.world.candidates import build_options
from tfcap.data.world.captions import describe
from tfcap.data.world.dialogs import make_dialog
from tfcap.data.world.karpathy_format import write_karpathy
from tfcap.data.world.render import render
from tfcap.data.world.scene import scene_from_dict
from tfcap.data.world.scene import scene_to_dict
from tfcap.data.world.scene_sampler import sample_scene
from tfcap.data.world.visdial_format import write_dense_annotations
from tfcap.data.world.visdial_format import write_visdial

# Raise it with every change that alters a file of a built world.
VERSION = 3
SPLITS = ("train", "val", "test")
# Fewer dialogs do not hold enough distinct answers for 100 candidates.
_LEAST_TRAIN = 50


class World:
    """A built world: paths of its files, and what they hold.

    Obtained from `load_world()`. The caption and dialog files have the
    layouts of the published data sets, so the loaders of those read them.

    Args:
        root: Directory that `load_world()` has built.
    """

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.about = json.loads((self.root / "world.json").read_text())
        self._scenes = {}

    def images(self, split):
        """Pixels, uint8 array of shape `(B, 64, 64, 3)`, mapped from disk."""
        path = self.root / f"images_{_known(split)}.npy"
        return np.load(path, mmap_mode="r")

    def image_ids(self, split):
        """Integers, unique over the splits, in the order of the images."""
        return _image_ids(self.about["sizes"], _known(split))

    def scenes(self, split):
        """List of `Scene`, the truth about each image, in their order."""
        path = self.root / f"scenes_{_known(split)}.json.gz"
        if split not in self._scenes:
            with gzip.open(path, "rt", encoding="utf-8") as file:
                values = json.load(file)
            self._scenes[split] = [scene_from_dict(scene) for scene in values]
        return list(self._scenes[split])

    @property
    def karpathy_path(self):
        """Captions of all splits, in the layout of `dataset_coco.json`."""
        return self.root / "dataset_world.json"

    def visdial_path(self, split):
        """Dialogs of a split, in the layout of VisDial v1.0."""
        return self.root / _visdial(_known(split))

    def dense_path(self, split):
        """Relevance of each candidate, as VisDial's dense annotations."""
        return self.root / _dense(_known(split))


def load_world(
    root=None, seed=0, train=8000, val=1000, test=1000, progress=True
):
    """Returns the embedded world, building it first if it is not there yet.

    The directory is named by version, seed and sizes and appears in one step,
    so a build that was interrupted, or that runs twice at once, does no harm.

    Args:
        root: Directory that holds worlds. Defaults to `$TFCAP_CACHE`, or
            `~/.cache/tfcap` without it.
        seed: Integer; the same seed and sizes give the same files.
        train: Integer of at least 50, number of images to train on.
        val: Integer, number of images to validate on.
        test: Integer, number of images to test on.
        progress: Boolean, whether to tell on the standard error what is done.

    Returns:
        A `World`.

    Example:

    >>> import tempfile
    >>> world = tfcap.data.world.load_world(
    ...     tempfile.mkdtemp(), train=50, val=5, test=5, progress=False
    ... )
    >>> world.images("val").shape, len(world.scenes("train"))
    ((5, 64, 64, 3), 50)
    """
    sizes = {"train": train, "val": val, "test": test}
    for name, least in (("train", _LEAST_TRAIN), ("val", 1), ("test", 1)):
        if not isinstance(sizes[name], int) or sizes[name] < least:
            raise ValueError(
                f"`{name}` must be an integer of at least {least}. "
                f"Received: {name}={sizes[name]}"
            )
    about = {"version": VERSION, "seed": seed, "sizes": sizes}
    root = pathlib.Path(root) if root is not None else _default_root()
    name = f"world_v{VERSION}_seed{seed}_{train}_{val}_{test}"
    if not _complete(root / name, about):
        root.mkdir(parents=True, exist_ok=True)
        _build(root, name, about, progress)
    return World(root / name)


def _default_root():
    cache = os.environ.get("TFCAP_CACHE")
    return pathlib.Path(cache or pathlib.Path.home() / ".cache" / "tfcap")


def _known(split):
    if split not in SPLITS:
        raise ValueError(
            f"`split` must be one of {SPLITS}. Received: split={split!r}"
        )
    return split


def _visdial(split):
    return f"visdial_world_{split}.json"


def _dense(split):
    return f"visdial_world_{split}_dense_annotations.json"


def _image_ids(sizes, split):
    first = 1 + sum(sizes[name] for name in SPLITS[: SPLITS.index(split)])
    return list(range(first, first + sizes[split]))


def _complete(path, about):
    """Whether all files are there in the size they were written in."""
    try:
        found = json.loads((path / "world.json").read_text())
    except (OSError, ValueError):
        return False
    files = found.pop("files", {})
    return found == about and all(
        (path / name).is_file() and (path / name).stat().st_size == size
        for name, size in files.items()
    )


def _build(root, name, about, progress):
    started = time.perf_counter()
    work = pathlib.Path(tempfile.mkdtemp(prefix=f".{name}_", dir=root))
    try:
        _write(work, about, progress)
        files = {path.name: path.stat().st_size for path in work.iterdir()}
        listed = json.dumps({**about, "files": files}, indent=1)
        (work / "world.json").write_text(listed)
        _move(work, root / name, about)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    seconds = time.perf_counter() - started
    _tell(progress, f"built in {seconds:.0f} s: {root / name}\n")


def _move(work, target, about):
    """Puts a finished world in its place, unless one has come meanwhile."""
    if _complete(target, about):
        return
    if target.exists():
        shutil.rmtree(target)
    try:
        os.replace(work, target)
    except OSError:
        # Another process was quicker by a moment; its world is the same.
        if not _complete(target, about):
            raise


def _write(work, about, progress):
    captions, corpus = {}, None
    for index, split in enumerate(SPLITS):
        rng = np.random.default_rng([about["seed"], index])
        count = about["sizes"][split]
        ids = _image_ids(about["sizes"], split)
        _tell(progress, f"{split}: drawing {count} scenes")
        scenes = [sample_scene(rng) for _ in range(count)]
        np.save(work / f"images_{split}.npy", render(scenes))
        _write_scenes(work / f"scenes_{split}.json.gz", scenes)
        _tell(progress, f"{split}: captions and dialogs")
        sentences = [describe(scene, rng) for scene in scenes]
        captions[split] = ids, sentences
        dialogs = [
            make_dialog(scene, five[0], rng)
            for scene, five in zip(scenes, sentences)
        ]
        corpus = corpus or dialogs
        _tell(progress, f"{split}: candidate answers")
        options = build_options(dialogs, rng, corpus=corpus)
        write_visdial(work / _visdial(split), split, ids, dialogs, options)
        write_dense_annotations(work / _dense(split), ids, options)
    write_karpathy(work / "dataset_world.json", captions)


def _write_scenes(path, scenes):
    text = json.dumps([scene_to_dict(scene) for scene in scenes])
    # Without a time stamp the same seed gives the same bytes.
    path.write_bytes(gzip.compress(text.encode(), compresslevel=5, mtime=0))


def _tell(progress, message):
    if progress:
        sys.stderr.write(f"\r\033[Kembedded world: {message}")
        sys.stderr.flush()
