"""Finds and encodes the data of a visual dialog study."""

import functools
import glob
import os
from collections import Counter

import keras
import numpy as np

from reproduce.visdial.dialog_data import DialogData
from reproduce.visdial.pooled_features import pooled_source
from reproduce.world.features import SPLITS
from reproduce.world.features import world_with_features
from tfcap.data import EncodedDialogs
from tfcap.data import build_vocabulary
from tfcap.data import coco_image_path
from tfcap.data import extract_features
from tfcap.data import load_features
from tfcap.data import load_visdial
from tfcap.data import paper_split
from tfcap.data import vgg19_backbone
from tfcap.data.data_digest import feature_digest
from tfcap.data.encoded_dialogs import encode_splits
from tfcap.data.entry_problems import warn_of_splits
from tfcap.data.image_file import rows_with_features
from tfcap.data.mapped_features import length_scale
from tfcap.data.mapped_features import mapped_features
from tfcap.io import is_there

#: Name of the challenge's test split, whose last answers are hidden.
CHALLENGE = "visdial_1.0_test"
_DENSE = "_dense_annotations"
_LAYOUT = (
    "`root` must hold visdial_0.9_train.json and visdial_0.9_val.json, or "
    "visdial_1.0_train.json and visdial_1.0_val.json, or one visdial_*.json "
    "whose dialogs carry `suggested_split` train or val; each plain or .gz"
)


def world_data(root=None, **options):
    """The embedded world's dialogs, read through the files it writes.

    Args:
        root: String or path that holds worlds. Defaults to `$TFCAP_CACHE`, or
            `~/.cache/tfcap`.
        **options: Those of `scene_features.world_with_features()`.

    Returns:
        `DialogData`.
    """
    world, images = world_with_features(root, **options)
    splits = [
        load_visdial(world.visdial_path(n), world.dense_path(n)) for n in SPLITS
    ]
    vocabulary = build_vocabulary(splits[0])
    encoded = [EncodedDialogs.from_split(s, vocabulary) for s in splits]
    pictures = world.images("test")
    return DialogData(
        *encoded,
        *images,
        name="embedded world",
        test_images=lambda row: np.array(pictures[row]),
    )


def visdial_data(root, vgg19_weights=None, norm=None, skip_unreadable=False):
    """Loads published VisDial files with the paper's preprocessing.

    Image features are read from all `*features*.npz` of the folder, with
    `image_ids` `(n,)` and pooled `features` `(n, D)`, a grid of one position,
    or from `image_features.h5`, HDF5 as `tfcap.data.extract_features()` writes
    it. Where there is neither, VGG-19 reads the COCO images of the folder, if
    its weights are given, and that file is written.

    Args:
        root: String or path of the folder.
        vgg19_weights: `"imagenet"`, a path, or `None`.
        norm: Float, length to scale every position's features to, or `None`
            to leave them. Defaults to `None`.
        skip_unreadable: Boolean, whether VGG-19 leaves out images that cannot
            be read, see `tfcap.data.extract_features()`; their dialogs are
            left out then, with a warning. Defaults to `False`.

    Returns:
        `DialogData`: of version 0.9 the paper's split of 82 thousand, one and
        40 thousand dialogs; of version 1.0 its validation file as test; of a
        file with suggested splits its `val` as test, and a tenth of `train`
        for validation.

    Raises:
        ValueError: If files are missing, damaged or lack an image.
    """
    train, validation, test, name = _splits(root)
    vocabulary = build_vocabulary(train)
    features = _feature_source(root, vgg19_weights, norm=None)
    splits = (train, validation, test)
    path = _feature_file(root)
    if path and not is_there(path):
        _extract(root, path, vgg19_weights, None, skip_unreadable)
    if path:
        splits = [
            s.select(rows_with_features(s.image_ids.tolist(), path))
            for s in splits
        ]
    test = splits[-1]
    encoded = encode_splits(splits, vocabulary)
    images = [features(s.image_ids) for s in splits]
    return DialogData(
        *encoded,
        *[_scaled(found, norm) for found in images],
        name=name,
        test_images=lambda row: _picture(root, test.image_ids[row]),
        norm=norm,
        # Of what the file holds: scaled, last digits depend on the machine.
        feature_digests=tuple(map(feature_digest, images)),
    )


def challenge_data(root, vocabulary, vgg19_weights=None, norm=None):
    """Loads the test split of the Visual Dialog Challenge, answers hidden.

    Image features are read as `visdial_data()` reads them. Where VGG-19 reads
    the images, those of `VisualDialog_test2018`, the file it writes is
    `test_features.h5`.

    Args:
        root: String or path of the folder, which holds
            `visdial_1.0_test.json`, plain or .gz.
        vocabulary: `tfcap.text.Vocabulary` that the networks were trained
            with.
        vgg19_weights, norm: As of `visdial_data()`, and as there.

    Returns:
        `tfcap.data.EncodedDialogs` of M dialogs, each with options in its
        last round, and their features: an array of shape `(M, P, D)` or what
        `tfcap.data.DialogBatches` takes instead.

    Raises:
        ValueError: If files are missing, damaged or lack an image.
    """
    split = load_visdial(challenge_path(root))
    features = _feature_source(root, vgg19_weights, norm, split.image_ids)
    encoded = EncodedDialogs.from_split(split, vocabulary)
    return encoded, features(split.image_ids)


def challenge_path(root):
    """Path of the challenge's test split in a folder.

    Args:
        root: String or path of the folder.

    Returns:
        String.

    Raises:
        ValueError: If it is not there.
    """
    path = _find(str(root), f"{CHALLENGE}.json")
    if path is None:
        raise ValueError(
            f"`root` must hold {CHALLENGE}.json, plain or .gz. Received: "
            f"root={str(root)!r}. Get it from https://visualdialog.org/data."
        )
    return path


def _splits(root):
    root = str(root)
    for version in ("0.9", "1.0"):
        train, val = (
            _find(root, f"visdial_{version}_{part}.json")
            for part in ("train", "val")
        )
        if train and val:
            dense = f"visdial_{version}_val{_DENSE}.json"
            rest = load_visdial(train)
            return (
                *paper_split(rest, min(1000, len(rest) // 10)),
                load_visdial(val, _find(root, dense)),
                f"VisDial v{version}",
            )
    for path in sorted(glob.glob(os.path.join(root, "visdial_*.json*"))):
        stem = os.path.basename(path).split(".json")[0]
        if stem == CHALLENGE or stem.endswith(_DENSE):
            continue
        split = load_visdial(path, _find(root, f"{stem}{_DENSE}.json"))
        tags = split.tags
        if tags is not None and {"train", "val"} <= set(tags):
            counts = Counter(tags.tolist())
            warn_of_splits(path, counts, ("train", "val", ""))
            rest = split.select(tags == "train")
            return (
                *paper_split(rest, len(rest) // 10),
                split.select(tags == "val"),
                stem,
            )
    raise ValueError(f"{_LAYOUT}. Received: root={root!r}.")


def _find(root, name):
    for path in (os.path.join(root, name), os.path.join(root, name + ".gz")):
        if is_there(path):
            return path
    return None


def _feature_file(root):
    """Path of the file of grids, there or not; None beside pooled features."""
    if glob.glob(os.path.join(str(root), "*features*.npz")):
        return None
    return os.path.join(str(root), "image_features.h5")


def _feature_source(root, vgg19_weights, norm, challenge_ids=None):
    """A function from image ids to features `(n, P, D)`."""
    paths = sorted(glob.glob(os.path.join(str(root), "*features*.npz")))
    if paths:
        pooled = pooled_source(paths)
        return lambda ids: _scaled(pooled(ids), norm)
    path = os.path.join(str(root), "image_features.h5")
    if challenge_ids is not None:
        path = os.path.join(str(root), "test_features.h5")

    def features(ids):
        if not is_there(path):
            _extract(root, path, vgg19_weights, challenge_ids)
        # Seven by seven positions of a hundred thousand images are read as
        # they are needed.
        return _scaled(load_features(path, ids, lazy=True), norm)

    return features


def _scaled(features, norm):
    if norm is None:
        return features
    return mapped_features(features, length_scale(norm), f"length {norm}")


def _extract(root, path, vgg19_weights, challenge_ids, skip_unreadable=False):
    if vgg19_weights is None:
        raise ValueError(
            "`vgg19_weights` must be given to read images, since "
            f"{path} does not exist. Received: vgg19_weights=None. Pass "
            '"imagenet", the path of a weight file, or put a feature file '
            "there."
        )
    if challenge_ids is None:
        ids = [split.image_ids for split in _splits(root)[:3]]
        find = functools.partial(_image_path, root, lenient=skip_unreadable)
        images = [(i, find(i)) for i in np.concatenate(ids)]
    else:
        images = [
            (i, coco_image_path(root, i, "test2018")) for i in challenge_ids
        ]
    images = [(int(image_id), path) for image_id, path in images]
    extract_features(
        vgg19_backbone(vgg19_weights),
        images,
        path,
        skip_unreadable=skip_unreadable,
    )


def _picture(root, image_id):
    try:
        path = _image_path(root, image_id)
    except FileNotFoundError:
        return None
    return keras.utils.img_to_array(keras.utils.load_img(path), dtype="uint8")


def _image_path(root, image_id, lenient=False):
    path = coco_image_path(root, image_id, "val2018")
    if is_there(path):
        return path
    try:
        return coco_image_path(root, image_id, "2014")
    except FileNotFoundError:
        if not lenient:
            raise
        return coco_image_path(root, image_id, "train2014")
