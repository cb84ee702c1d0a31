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
from tfcap._io import load_arrays
from tfcap._io import malformed
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
_LAYOUT = (
    "`root` must hold visdial_0.9_train.json and visdial_0.9_val.json, or "
    "visdial_1.0_train.json and visdial_1.0_val.json, or one visdial_*.json "
    "whose dialogs carry `suggested_split` train or val; each plain or .gz"
)


@dataclasses.dataclass(frozen=True)
class DialogData:
    """Encoded dialogs with the features of their images.

    Args:
        train_features, validation_features, test_features: Arrays of shape
            `(M, P, D)`, or what `tfcap.data.DialogBatches` takes instead.
        name: String, what the data is called in tables.
        test_images: Function from the number of a test dialog to its picture,
            a uint8 array `(height, width, 3)`, or `None` where there is none.
        norm: Float, length that every position's features were scaled to, or
            `None`. Other images must be scaled alike.
        feature_digests: Strings, `tfcap.data.feature_digest()` of each split.
            Defaults to `None`, they are computed.
        judge: Function from an answer to every round of the test split, a
            list of strings, to a dict of shares, where the data know what is
            true; or `None`.
    """

    train: Any
    validation: Any
    test: Any
    train_features: Any
    validation_features: Any
    test_features: Any
    name: str
    test_images: Any = lambda row: None
    norm: float | None = None
    feature_digests: tuple | None = None
    judge: Any = None

    def first(self, dialogs: int) -> "DialogData":
        """The same with no more than the first dialogs of the test split."""
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
        parts, known = {"norm": self.norm}, self.feature_digests or [None] * 3
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
    return DialogData(
        *encoded,
        *images,
        name="embedded world",
        test_images=lambda row: np.array(pictures[row]),
        judge=functools.partial(_judged, world),
    )


def _judged(world, answers):
    """Shares of answers to the test split that are true, false or empty."""
    rounds = [x for one in world.dialogs("test") for x in one.rounds]
    # The first dialogs, where a test split has no more.
    return answer_truth(rounds[: len(answers)], answers)


def visdial_data(root, vgg19_weights=None, norm=None, skip_unreadable=False):
    """Loads published VisDial files with the paper's preprocessing.

    Image features are read from all `*features*.npz` of the folder, with
    `image_ids` `(n,)` and pooled `features` `(n, D)`, a grid of one position,
    or from `image_features.npy`, as `tfcap.data.extract_features()` writes it.
    Where there is neither, VGG-19 reads the COCO images of the folder, if its
    weights are given, and that file is written.

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
    *splits, name = _splits(root)
    vocabulary = build_vocabulary(splits[0])
    path, pooled = _feature_files(root, "image_features.npy")
    if not pooled:
        if not os.path.exists(path):
            find = functools.partial(_image_path, root, lenient=skip_unreadable)
            ids = np.concatenate([split.image_ids for split in splits])
            _extract(path, vgg19_weights, ids, find, skip_unreadable)
        skipped = [*load_features(path, lazy=True).skipped]
        splits = [
            split.select(~np.isin(split.image_ids, skipped)) for split in splits
        ]
    read = _reader(path, pooled)
    images, test = [read(s.image_ids) for s in splits], splits[-1]
    return DialogData(
        *_encoded(splits, vocabulary),
        *[_scaled(table, norm) for table in images],
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
    `test_features.npy`.

    Returns:
        `tfcap.data.EncodedDialogs` of M dialogs, each with options in its
        last round, and their features: an array of shape `(M, P, D)` or what
        `tfcap.data.DialogBatches` takes instead.

    Raises:
        ValueError: If files are missing, damaged or lack an image.
    """
    split = load_visdial(challenge_path(root))
    path, pooled = _feature_files(root, "test_features.npy")
    if not pooled and not os.path.exists(path):
        find = functools.partial(_in_folder, root, "VisualDialog_test2018")
        _extract(path, vgg19_weights, split.image_ids, find)
    encoded = EncodedDialogs.from_split(split, vocabulary)
    return encoded, _scaled(_reader(path, pooled)(split.image_ids), norm)


def challenge_path(root) -> str:
    """Path of the challenge's test split in a folder.

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
    """Splits to train on, to validate and to test with, and their name."""
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
                *_last_apart(rest, min(1000, len(rest) // 10)),
                load_visdial(val, _find(root, dense)),
                f"VisDial v{version}",
            )
    for path in sorted(glob.glob(os.path.join(root, "visdial_*.json*"))):
        stem = os.path.basename(path).split(".json")[0]
        # Relevance of a split's answers, or of a sample of them.
        if stem == CHALLENGE or "_dense" in stem:
            continue
        split = load_visdial(path, _find(root, f"{stem}{_DENSE}.json"))
        if split.tags is not None and {"train", "val"} <= set(split.tags):
            rest = split.select(split.tags == "train")
            return (
                *_last_apart(rest, len(rest) // 10),
                split.select(split.tags == "val"),
                stem,
            )
    raise ValueError(f"{_LAYOUT}. Received: root={root!r}.")


def _last_apart(split, count):
    """A split without its last dialogs, and these.

    Lu et al. 2017 validate on one thousand dialogs of the training file, and
    do not say which.
    """
    rows = np.arange(len(split))
    return split.select(rows[:-count]), split.select(rows[-count:])


def _encoded(splits, vocabulary):
    """Splits for training; the texts that some share are encoded once."""
    made = []
    for split in splits:
        shared = [
            (encoded.questions, encoded.answers)
            for other, encoded in made
            if other.questions is split.questions
            and other.answers is split.answers
        ]
        tables = shared[0] if shared else None
        encoded = EncodedDialogs.from_split(split, vocabulary, tables=tables)
        made.append((split, encoded))
    return [encoded for _, encoded in made]


def _find(root, name):
    paths = [os.path.join(root, name + end) for end in ("", ".gz")]
    return next(filter(os.path.exists, paths), None)


def _feature_files(root, name):
    """Path of the file of grids, there or not, and those of pooled vectors."""
    pooled = glob.glob(os.path.join(str(root), "*features*.npz"))
    return os.path.join(str(root), name), sorted(pooled)


def _reader(path, pooled):
    """A function from image ids to features `(n, P, D)`."""
    if pooled:
        return pooled_reader(pooled)
    # Seven by seven positions of a hundred thousand images are read as they
    # are needed.
    return lambda ids: load_features(path, ids, lazy=True)


def _scaled(features, norm):
    return features if norm is None else scale_features(features, norm)


def _extract(path, vgg19_weights, image_ids, find, skip_unreadable=False):
    if vgg19_weights is None:
        raise ValueError(
            "`vgg19_weights` must be given to read images, since "
            f"{path} does not exist. Received: vgg19_weights=None. Pass "
            '"imagenet", the path of a weight file, or put a feature file '
            "there."
        )
    extract_features(
        named_backbone("VGG19", vgg19_weights),
        [(int(image_id), find(image_id=image_id)) for image_id in image_ids],
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
    """Path of an image of VisDial, as COCO and VisDial publish them."""
    folders = ("VisualDialog_val2018", "train2014", "val2014")
    paths = [_in_folder(root, folder, image_id) for folder in folders]
    found = next(filter(os.path.exists, paths), None)
    if found is None and not lenient:
        raise FileNotFoundError(
            f"`root` must hold image {image_id} in {', '.join(folders)}. "
            f"Received: root={str(root)!r}. Unpack COCO's and VisDial's "
            "archives there."
        )
    return found or paths[1]


def _in_folder(root, folder, image_id):
    """Path of an image in the folder of one of the archives."""
    prefix = "" if folder.startswith("Visual") else "COCO_"
    name = f"{prefix}{folder}_{int(image_id):012d}.jpg"
    return os.path.join(root, folder, name)


def pooled_reader(paths):
    """Reads `.npz` files of one vector an image, a grid of one position.

    Args:
        paths: Strings or paths of files with `image_ids` `(n,)` and `features`
            `(n, D)`, of one width D and of different images.

    Returns:
        Function from image ids `(M,)` to float32 features `(M, 1, D)`. It
        raises a `ValueError` if an image is in no file.

    Raises:
        ValueError: If a file is damaged or holds something else, if widths
            differ, or if an image is there twice.

    Example:

    >>> import pathlib, tempfile
    >>> from reproduce.visdial.data import pooled_reader
    >>> path = pathlib.Path(tempfile.mkdtemp(), "features.npz")
    >>> np.savez(path, image_ids=[7, 9], features=[[0.0, 1.0], [2.0, 3.0]])
    >>> pooled_reader([path])(np.array([9, 7]))[:, 0]
    array([[2., 3.],
           [0., 1.]], dtype=float32)
    """
    files = [_read_pooled(path) for path in paths]
    names = ", ".join(map(str, paths))
    widths = sorted({table.shape[1] for _, table in files})
    if len(widths) > 1:
        raise ValueError(
            "`paths` must be of features of one width. Received: "
            f"{names} of widths {widths}. Keep those of one backbone together."
        )
    known = np.concatenate([ids for ids, _ in files])
    order = np.argsort(known)
    twice = np.flatnonzero(np.diff(known[order]) == 0)
    if twice.size:
        raise ValueError(
            "`paths` must hold the features of an image once. Received: "
            f"{names}, where {len(twice)} are there again, such as image "
            f"{known[order][twice[0]]}. Take the repeated ones out."
        )
    tables = [table for _, table in files]
    # A copy of one table would take its memory twice.
    table = tables[0] if len(tables) == 1 else np.concatenate(tables)

    def features(image_ids):
        index = np.searchsorted(known[order], image_ids)
        nearest = known[order][np.minimum(index, len(known) - 1)]
        if (nearest != image_ids).any():
            missing = np.asarray(image_ids)[nearest != image_ids]
            raise ValueError(
                "`paths` must hold the features of every image. Received: "
                f"{names}, without {len(missing)} images, such as "
                f"{missing[:3].tolist()}. Extract them, or take the dialogs "
                "out."
            )
        return table[order[index]].astype("float32", copy=False)[:, None]

    return features


def _read_pooled(path):
    problem = "are no `image_ids` and `features`"
    hint = "Give an `.npz` file of both, `(n,)` and `(n, D)`."
    try:
        arrays = load_arrays(path, ("image_ids", "features"))
    except ValueError as error:
        raise malformed(path, "", f"{problem}: {error}", hint) from error
    ids, table = arrays["image_ids"], arrays["features"]
    whole = ids.ndim == 1 and table.ndim == 2 and len(ids) == len(table)
    if not whole or not ids.size:
        shapes = f"they have shapes {ids.shape} and {table.shape}"
        raise malformed(path, "", f"{problem}: {shapes}", hint)
    return ids, table
