"""The synthetic world on disk: built from a seed in seconds, then cached."""

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
from reproduce.world.candidates import build_options
from reproduce.world.captions import describe
from reproduce.world.dialogs import make_dialog
from reproduce.world.formats import write_dense_annotations
from reproduce.world.formats import write_karpathy
from reproduce.world.formats import write_visdial
from reproduce.world.render import render
from reproduce.world.sampler import sample_scene
from reproduce.world.scene import scene_from_dict
from reproduce.world.scene import scene_to_dict

# Raise it with every change that alters a file of a built world.
VERSION = 3
# Fewer dialogs do not hold enough distinct answers for 100 candidates.
_LEAST_TRAIN = 50


class World:
    """A built world: paths of its files, and what they hold.

    Obtained from `load_world()`. The caption and dialog files have the
    layouts of the published data sets, so the loaders of those read them.

    Args:
        root: Directory that `load_world()` has built.
    """

    def __init__(self, root: str | os.PathLike):
        self.root = pathlib.Path(root)
        self.about = read_about(self.root)
        self._scenes = {}

    def images(self, split):
        """Pixels, uint8 array of shape `(B, 64, 64, 3)`, mapped from disk."""
        path = self.root / f"images_{known_split(split)}.npy"
        return np.load(path, mmap_mode="r")

    def image_ids(self, split):
        """Integers, unique over the splits, in the order of the images."""
        return _image_ids(self.about["sizes"], known_split(split))

    def scenes(self, split):
        """List of `Scene`, the truth about each image, in their order."""
        path = self.root / f"scenes_{known_split(split)}.json.gz"
        if split not in self._scenes:
            scenes = read_packed(path)
            self._scenes[split] = [scene_from_dict(scene) for scene in scenes]
        return list(self._scenes[split])

    def dialogs(self, split):
        """List of `WorldDialog` with the truth of each round, in their order.

        The files hold what was said alone: dialogs are drawn again, from the
        seed of the world.
        """
        index = SPLITS.index(known_split(split))
        _, _, dialogs, _ = _drawn(self.about, index)
        return dialogs

    @property
    def karpathy_path(self):
        """Captions of all splits, in the layout of `dataset_coco.json`."""
        return self.root / "dataset_world.json"

    def visdial_path(self, split):
        """Dialogs of a split, in the layout of VisDial v1.0."""
        return self.root / _visdial(known_split(split))

    def dense_path(self, split):
        """Relevance of each candidate, as VisDial's dense annotations."""
        return self.root / _dense(known_split(split))


def load_world(
    root: str | os.PathLike | None = None,
    seed: int = 0,
    train=8000,
    val: int = 1000,
    test: int = 1000,
    progress: bool = True,
) -> World:
    """Returns the synthetic world, building it first if it is not there yet.

    A build that was interrupted, or that runs twice at once, does no harm: see
    `built_folder()`.

    Args:
        train: Integer of at least 50, number of images to train on.

    Example:

    >>> import tempfile
    >>> world = reproduce.world.load_world(
    ...     tempfile.mkdtemp(), train=50, val=5, test=5, progress=False
    ... )
    >>> world.images("val").shape, len(world.scenes("train"))
    ((5, 64, 64, 3), 50)
    """
    sizes = checked_sizes(
        {"train": _LEAST_TRAIN}, train=train, val=val, test=test
    )
    about = {"version": VERSION, "seed": seed, "sizes": sizes}
    write = functools.partial(_write, progress=progress)
    return World(built_folder(root, "world", about, write, progress))


def _visdial(split):
    return f"visdial_world_{split}.json"


def _dense(split):
    return f"visdial_world_{split}_dense_annotations.json"


def _image_ids(sizes, split):
    first = 1 + sum(sizes[name] for name in SPLITS[: SPLITS.index(split)])
    return list(range(first, first + sizes[split]))


def _drawn(about, index):
    """Scenes, captions and dialogs of a split, and what draws the rest."""
    rng = np.random.default_rng([about["seed"], index])
    count = about["sizes"][SPLITS[index]]
    scenes = [sample_scene(rng) for _ in range(count)]
    sentences = [describe(scene, rng) for scene in scenes]
    dialogs = [
        make_dialog(scene, five[0], rng)
        for scene, five in zip(scenes, sentences)
    ]
    return scenes, sentences, dialogs, rng


def _write(work, about, progress):
    captions, corpus = {}, None
    for index, split in enumerate(SPLITS):
        ids = _image_ids(about["sizes"], split)
        tell(progress, f"{split}: {len(ids)} scenes, captions and dialogs")
        scenes, sentences, dialogs, rng = _drawn(about, index)
        np.save(work / f"images_{split}.npy", render(scenes))
        write_packed(
            work / f"scenes_{split}.json.gz", list(map(scene_to_dict, scenes))
        )
        captions[split] = ids, sentences
        corpus = corpus or dialogs
        tell(progress, f"{split}: candidate answers")
        options = build_options(dialogs, rng, corpus=corpus)
        write_visdial(work / _visdial(split), split, ids, dialogs, options)
        write_dense_annotations(work / _dense(split), ids, options)
    write_karpathy(work / "dataset_world.json", captions)
