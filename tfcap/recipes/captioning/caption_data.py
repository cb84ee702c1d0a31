"""Finds and encodes the data of a captioning study."""

import functools
import glob
import os
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

import numpy as np

from tfcap.data import EncodedCaptions
from tfcap.data import build_caption_vocabulary
from tfcap.data import load_captions
from tfcap.data import load_features
from tfcap.data import load_tgif_captions
from tfcap.data import standardize_features
from tfcap.data.world import motion_scores
from tfcap.recipes.clip_features import clip_world_with_features
from tfcap.recipes.scene_features import SPLITS
from tfcap.recipes.scene_features import world_with_features

#: Speakers that see the image as a whole.
POOLED = ("show_tell",)
#: How files of captions are read, by what they are called.
_LOADERS = {"dataset_*.json*": load_captions, "tgif*.tsv*": load_tgif_captions}


@dataclass(frozen=True, eq=False)
class CaptionData:
    """Encoded captions and image features of a study's three splits.

    Attributes:
        train, validation, test: `tfcap.data.EncodedCaptions`.
        train_features, validation_features, test_features: Of each split,
            what `tfcap.data.CaptionBatches` takes as features, `(n, P, D)`.
        name: String, what the data set is called in tables.
        unlabeled_features: Images of which no caption is read, as the other
            features, an array.
        test_images: Callable from a row of the test split to a uint8 image
            `(height, width, 3)`, or to None where pixels are not at hand.
        judge: Callable from captions of the test split, a list of strings, to
            a dict of scores, where the data know what is true; or `None`.
    """

    train: EncodedCaptions
    validation: EncodedCaptions
    test: EncodedCaptions
    train_features: Any
    validation_features: Any
    test_features: Any
    unlabeled_features: Any
    name: str
    test_images: Callable
    judge: Callable | None = None

    @property
    def vocabulary(self):
        """The `tfcap.text.Vocabulary` of all ids."""
        return self.train.vocabulary


def caption_world(settings, root=None, **options):
    """The embedded world's captions, read through the files it writes.

    Args:
        settings: `SpeakerSettings`.
        root: String or path that holds worlds. Defaults to `$TFCAP_CACHE`, or
            `~/.cache/tfcap`.
        **options: Those of `scene_features.world_with_features()`.

    Returns:
        `CaptionData`. Features have mean 0 and deviation 1 in the training
        split; for a speaker that sees the image as a whole, they are the
        means over positions.
    """
    world, features = world_with_features(root, **options)
    splits = [load_captions(world.karpathy_path, name) for name in SPLITS]
    pictures = world.images("test")
    return _encoded(
        splits,
        features,
        settings,
        name="embedded world",
        test_images=lambda row: np.array(pictures[row]),
    )


def caption_clips(settings, root=None, **options):
    """Clips of the embedded world, read through the files it writes.

    Args:
        settings: `SpeakerSettings`.
        root: String or path that holds worlds. Defaults to `$TFCAP_CACHE`, or
            `~/.cache/tfcap`.
        **options: Those of `clip_features.clip_world_with_features()`.

    Returns:
        `CaptionData`; see `caption_world()`, with frames for positions. The
        picture of a clip is four of its frames beside each other. Its judge
        tells whether what is said to happen does: `motion_scores()`.
    """
    world, features = clip_world_with_features(root, **options)
    splits = [load_tgif_captions(world.tgif_path, name) for name in SPLITS]
    frames = world.frames("test")
    return _encoded(
        splits,
        features,
        settings,
        name="embedded clips",
        test_images=lambda row: np.concatenate(frames[row][1::2], axis=1),
        judge=functools.partial(motion_scores, world.clips("test")),
    )


def caption_files(settings, root):
    """Reads a data set in Karpathy's layout or TGIF's, with a feature file.

    Args:
        settings: `SpeakerSettings`.
        root: String or path of a folder with one `dataset_*.json`, such as
            `dataset_coco.json` or `dataset_flickr8k.json`, and one feature
            file `*.h5`, as `tfcap.data.extract_features()` writes it. Or, for
            clips, with `tgif-v1.0.tsv`, its lists in `splits/`, and one
            feature file, as `tfcap.data.extract_clip_features()` writes it.

    Returns:
        `CaptionData`; see `caption_world()`.

    Raises:
        ValueError: If files are missing, ambiguous, damaged or lack an image.
    """
    path, file = _only(root, *_LOADERS), _only(root, "*.h5")
    basename = os.path.basename(path)
    name = basename.split(".")[0].removeprefix("dataset_")
    (load,) = (_LOADERS[p] for p in _LOADERS if fnmatch(basename, p))
    splits = [load(path, split) for split in SPLITS]
    lazy = settings.speaker not in POOLED
    features = [load_features(file, s.image_ids, lazy=lazy) for s in splits]
    return _encoded(
        splits, features, settings, name=name, test_images=lambda row: None
    )


def _encoded(splits, features, settings, **about):
    vocabulary = build_caption_vocabulary(splits[0], settings.min_count)
    encoded = [
        EncodedCaptions.from_split(split, vocabulary, settings.max_length)
        for split in splits
    ]
    if settings.speaker in POOLED:
        features = [x.mean(axis=1, keepdims=True, dtype="f4") for x in features]
    features = standardize_features(*features)
    return CaptionData(*encoded, *features, features[0], **about)


def _only(root, *patterns):
    """The one file of a folder whose name is like one of these."""
    found = sorted(
        path
        for pattern in patterns
        for path in glob.glob(os.path.join(str(root), pattern))
    )
    if len(found) != 1:
        names = ", ".join(map(os.path.basename, found)) or "none"
        raise ValueError(
            f"`root` must hold one file {' or '.join(patterns)}. Received: "
            f"root={str(root)!r}, which holds {names}."
        )
    return found[0]
