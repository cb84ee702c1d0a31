"""The data of a visual dialog experiment: dialogs, and features of images."""

import dataclasses
import functools
import glob
import os
from typing import Any

import keras
import numpy as np

from reproduce.world import SPLITS
from reproduce.world.features import world_with_features
from reproduce.world.truth import answer_truth
from tfcap.data import EncodedDialogs
from tfcap.data import build_vocabulary
from tfcap.data import data_digest
from tfcap.data import extract_features
from tfcap.data import feature_digest
from tfcap.data import load_features
from tfcap.data import load_visdial
from tfcap.data import named_backbone
from tfcap.data import scale_features

#: Name of the challenge's test split, whose last answers are hidden.
CHALLENGE = "visdial_1.0_test"
_DENSE = "_dense_annotations"


@dataclasses.dataclass(frozen=True)
class DialogData:
    """Encoded dialogs with the features of their images.

    Args:
        train_features, validation_features, test_features: Arrays of shape
            `(M, P, D)`, or what `tfcap.data.DialogBatches` takes instead.
        name: String, what the data is called in tables.
        test_images: Function from the index of a test dialog to its picture, a
            uint8 array `(height, width, 3)`, or `None` if there is none.
        feature_digests: Strings, `tfcap.data.feature_digest()` of each split.
            Defaults to `None`, they are computed.
        judge: Function from a list of answers, one to each round of the test
            split, to a dict of shares, if the truth is known; or `None`.
    """

    train: Any
    validation: Any
    test: Any
    train_features: Any
    validation_features: Any
    test_features: Any
    name: str
    test_images: Any = lambda row: None
    feature_digests: tuple | None = None
    judge: Any = None

    def first(self, dialogs: int) -> "DialogData":
        """The same data with only the first dialogs of the test split."""
        if not 1 <= dialogs <= len(self.test):
            raise ValueError(
                "`dialogs` must be between 1 and the dialogs of the test "
                f"split, {len(self.test)}. Received: dialogs={dialogs}."
            )
        rows, features = np.arange(dialogs), self.test_features
        return dataclasses.replace(
            self,
            test=self.test.select(rows),
            test_features=features if callable(features) else features[rows],
            feature_digests=None,
        )

    @functools.cached_property
    def digest(self):
        """SHA-256 of ids, dialogs and features."""
        parts, known = {}, self.feature_digests or [None] * 3
        for name, digest in zip(("train", "validation", "test"), known):
            dialogs = getattr(self, name)
            for field in dataclasses.fields(dialogs):
                parts[f"{name}_{field.name}"] = getattr(dialogs, field.name)
            parts[f"{name}_vocabulary"] = list(dialogs.vocabulary.words)
            parts[f"{name}_features"] = digest or feature_digest(
                getattr(self, f"{name}_features"), len(dialogs)
            )
        return data_digest(**parts)


def world_data(root=None, **options) -> DialogData:
    """The synthetic world's dialogs, read through the files it writes."""
    world, images = world_with_features(root, **options)
    splits = [
        load_visdial(world.visdial_path(n), world.dense_path(n)) for n in SPLITS
    ]
    vocabulary = build_vocabulary(splits[0])
    encoded = [EncodedDialogs.from_split(s, vocabulary) for s in splits]
    pictures = world.images("test")
    rounds = [x for one in world.dialogs("test") for x in one.rounds]
    return DialogData(
        *encoded,
        *images,
        name="embedded world",
        test_images=lambda row: np.array(pictures[row]),
        # Of the first dialogs, where a test split has no more.
        judge=lambda said: answer_truth(rounds[: len(said)], said),
    )


def visdial_data(root, vgg19_weights=None, norm=None):
    """Loads published VisDial files with the paper's preprocessing.

    Image features are read from `image_features.npy`, as
    `tfcap.data.extract_features()` and `python -m tfcap.extract` write it.
    Where there is none, VGG-19 reads the COCO images of the folder, if its
    weights are given, and writes it.

    Args:
        root: String or path of the folder.
        vgg19_weights: `"imagenet"`, a path, or `None`.
        norm: Float, length to scale every position's features to, or `None`
            to leave them. Defaults to `None`.

    Returns:
        `DialogData`: of version 0.9 the paper's split of 82 thousand, one and
        40 thousand dialogs; of version 1.0 its validation file as test; of a
        file with suggested splits its `val` as test, and a tenth of `train`
        for validation.

    Raises:
        ValueError: If files are missing, damaged or lack an image.
    """
    *splits, name = _splits(str(root))
    vocabulary = build_vocabulary(splits[0])
    path = os.path.join(root, "image_features.npy")
    ids = np.concatenate([split.image_ids for split in splits])
    _extract(path, vgg19_weights, ids, functools.partial(_image_path, root))
    # Images that were left out when features were extracted.
    skipped = [*load_features(path, lazy=True).skipped]
    splits = [s.select(~np.isin(s.image_ids, skipped)) for s in splits]
    # Seven by seven positions of a hundred thousand images are read as they
    # are needed.
    images = [load_features(path, s.image_ids, lazy=True) for s in splits]
    test = splits[-1]
    return DialogData(
        *_encoded(splits, vocabulary),
        *[_scaled(table, norm) for table in images],
        name=name,
        test_images=lambda row: _picture(root, test.image_ids[row]),
        # Of what the file holds: scaled, last digits depend on the machine.
        feature_digests=tuple(f"{feature_digest(x)} {norm}" for x in images),
    )


def challenge_data(root, vocabulary, vgg19_weights=None, norm=None):
    """Loads the test split of the Visual Dialog Challenge, answers hidden.

    Image features are read from `test_features.npy`, which VGG-19 writes of
    the images in `VisualDialog_test2018`, as `visdial_data()` has it.

    Returns:
        `tfcap.data.EncodedDialogs` of M dialogs, each with options in its
        last round, and their features: an array of shape `(M, P, D)` or what
        `tfcap.data.DialogBatches` takes instead.

    Raises:
        ValueError: If files are missing, damaged or lack an image.
    """
    split = load_visdial(challenge_path(root))
    path = os.path.join(root, "test_features.npy")
    find = functools.partial(_in_folder, root, "VisualDialog_test2018")
    _extract(path, vgg19_weights, split.image_ids, find)
    images = load_features(path, split.image_ids, lazy=True)
    encoded = EncodedDialogs.from_split(split, vocabulary)
    return encoded, _scaled(images, norm)


def challenge_path(root) -> str:
    """Path of the challenge's test split in a folder.

    Raises:
        ValueError: If it is not there.
    """
    path = _find(str(root), CHALLENGE)
    if path is None:
        raise ValueError(
            f"`root` must hold {CHALLENGE}.json, plain or .gz. Received: "
            f"root={str(root)!r}. Get it from https://visualdialog.org/data."
        )
    return path


def _splits(root):
    """Splits to train on, to validate and to test with, and their name."""
    for version in ("0.9", "1.0"):
        stem = f"visdial_{version}"
        if _find(root, f"{stem}_train") and _find(root, f"{stem}_val"):
            rest, test = (_load(root, f"{stem}_{x}") for x in ("train", "val"))
            # The paper does not say which thousand it validates on.
            apart = _last_apart(rest, min(1000, len(rest) // 10))
            return *apart, test, f"VisDial v{version}"
    for path in sorted(glob.glob(os.path.join(root, "visdial_*.json*"))):
        stem = os.path.basename(path).split(".json")[0]
        # Relevance of a split's answers, or of a sample of them.
        if stem == CHALLENGE or "_dense" in stem:
            continue
        split = _load(root, stem)
        if split.tags is not None and {"train", "val"} <= set(split.tags):
            rest, test = (
                split.select(split.tags == x) for x in ("train", "val")
            )
            return *_last_apart(rest, len(rest) // 10), test, stem
    raise ValueError(
        "`root` must hold visdial_0.9_train.json and visdial_0.9_val.json, or "
        "visdial_1.0_train.json and visdial_1.0_val.json, or one "
        "visdial_*.json whose dialogs carry `suggested_split` train or val; "
        f"each plain or .gz. Received: root={root!r}."
    )


def _load(root, stem):
    """A file of dialogs, with its dense annotations where there are any."""
    return load_visdial(_find(root, stem), _find(root, stem + _DENSE))


def _find(root, stem):
    paths = [os.path.join(root, stem + end) for end in (".json", ".json.gz")]
    return next(filter(os.path.exists, paths), None)


def _last_apart(split, count):
    """A split without its last dialogs, and these."""
    rows = np.arange(len(split))
    return split.select(rows[:-count]), split.select(rows[-count:])


def _encoded(splits, vocabulary):
    """Splits for training; the texts that some share are encoded once."""
    made = []
    for split in splits:
        tables = next(
            (
                (encoded.questions, encoded.answers)
                for other, encoded in made
                if other.questions is split.questions
                and other.answers is split.answers
            ),
            None,
        )
        encoded = EncodedDialogs.from_split(split, vocabulary, tables=tables)
        made.append((split, encoded))
    return [encoded for _, encoded in made]


def _scaled(features, norm):
    return features if norm is None else scale_features(features, norm)


def _extract(path, vgg19_weights, image_ids, find):
    """Writes VGG-19's features of images, unless the file is there."""
    if os.path.exists(path):
        return
    if vgg19_weights is None:
        raise ValueError(
            "`vgg19_weights` must be given to read images, since "
            f"{path} does not exist. Received: vgg19_weights=None. Pass "
            '"imagenet", the path of a weight file, or put a feature file '
            "there: `python -m tfcap.extract` converts those of others."
        )
    extract_features(
        named_backbone("VGG19", vgg19_weights),
        [(int(image_id), find(image_id)) for image_id in image_ids],
        path,
    )


def _picture(root, image_id):
    try:
        path = _image_path(root, image_id)
    except FileNotFoundError:
        return None
    return keras.utils.img_to_array(keras.utils.load_img(path), dtype="uint8")


def _image_path(root, image_id):
    """Path of an image of VisDial, as COCO and VisDial publish them."""
    folders = ("VisualDialog_val2018", "train2014", "val2014")
    for folder in folders:
        path = _in_folder(root, folder, image_id)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(
        f"`root` must hold image {image_id} in {', '.join(folders)}. "
        f"Received: root={str(root)!r}. Unpack COCO's and VisDial's archives "
        "there."
    )


def _in_folder(root, folder, image_id):
    """Path of an image in the folder of one of the archives."""
    prefix = "" if folder.startswith("Visual") else "COCO_"
    name = f"{prefix}{folder}_{int(image_id):012d}.jpg"
    return os.path.join(root, folder, name)
