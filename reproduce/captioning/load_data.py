"""Finds and encodes the data of a captioning study."""

import functools
import glob
import itertools
import os

import numpy as np

from reproduce.captioning.caption_data import CaptionData
from reproduce.world import SPLITS
from reproduce.world import motion_scores
from reproduce.world.features import other_scenes
from reproduce.world.features import video_world_with_features
from reproduce.world.features import world_with_features
from reproduce.world.truth import Truth
from tfcap.data import EncodedCaptions
from tfcap.data import Photographs
from tfcap.data import StandardizedFeatures
from tfcap.data import build_vocabulary
from tfcap.data import feature_digest
from tfcap.data import load_captions
from tfcap.data import load_features
from tfcap.data import pool_positions

#: What files of captions are called.
_CAPTIONS = "dataset_*.json*", "*.token*", "*.tsv*", "*.csv*", "captions*.txt*"
#: In Flickr8k's archive beside its captions: their words without endings.
_LEMMAS = ".lemma."


def caption_world(settings, root=None, others=False, **options):
    """The embedded world's captions, read through the files it writes.

    Args:
        others: Boolean, whether to take as many other scenes instead, encoded
            by this world's encoder. Defaults to `False`.

    Returns:
        `CaptionData`. Features are those of the file, or their means over
        positions for a speaker without attention; its `standardization` gives
        them mean 0 and deviation 1 on the training split.
    """
    draw = other_scenes if others else world_with_features
    world, features = draw(root, **options)
    splits = [load_captions(world.karpathy_path, name) for name in SPLITS]
    pictures = world.images("test")
    return _encoded(
        splits,
        features,
        settings,
        name="embedded world" + others * ", other scenes",
        test_images=lambda row: np.array(pictures[row]),
        truth=_truth_of(world.scenes),
    )


def caption_videos(settings, root=None, **options):
    """Videos of the embedded world, read through the files it writes.

    Returns:
        `CaptionData`; see `caption_world()`, with frames for positions. The
        picture of a clip is four of its frames side by side. Its judge is
        `motion_scores()`, which checks the motion that captions name.
    """
    world, features = video_world_with_features(root, **options)
    splits = [load_captions(world.tgif_path, name) for name in SPLITS]
    frames = world.frames("test")
    return _encoded(
        splits,
        features,
        settings,
        name="embedded clips",
        test_images=lambda row: np.concatenate(frames[row][1::2], axis=1),
        judge=functools.partial(motion_scores, world.videos("test")),
        truth=_truth_of(world.videos),
    )


def _truth_of(shown):
    """Truth of a split by its name, made when it is first asked for."""
    names = dict(zip(("train", "validation", "test"), SPLITS))
    return functools.cache(lambda split: Truth(shown(names[split])))


def caption_files(settings, root, train="train", images=None, limits=None):
    """Reads a data set as it was published, with a feature file.

    Args:
        root: String or path of a folder with one file of captions and one
            feature file `*features*.npy`, as `tfcap.data.extract_features()`
            writes it.
            The captions are `dataset_*.json` in Karpathy's layout, such as
            `dataset_coco.json`; a table (`*.csv`, `*.tsv`, `captions.txt`)
            with a column of splits; a token file of Flickr's, such as
            `Flickr8k.token.txt`, beside the lists of its splits; or, for
            clips, `tgif-v1.0.tsv` with its lists in `splits/`, and features as
            `tfcap.data.extract_features(frames=...)` writes them.
        train: String, the training split, such as `"train+restval"` on COCO.
            Defaults to `"train"`. `"val"` and `"test"` are evaluated.
        images: String or path of the folder of the photographs to show; see
            `tfcap.data.Photographs`. Defaults to `None`: names alone.
        limits: Dict of integers by split, `"train"`, `"val"` or `"test"`: no
            more than its first images. The vocabulary remains that of the
            whole training split. Defaults to `None`, all of them.

    Returns:
        `CaptionData`; see `caption_world()`. Images that were left out when
        features were extracted are left out, with a warning.

    Raises:
        ValueError: If files are missing, ambiguous, damaged or lack an image.
    """
    path, file = _only(root, *_CAPTIONS), _only(root, "*features*.npy")
    name = os.path.basename(path).split(".")[0].removeprefix("dataset_")
    splits = _read_once(path, (train, *SPLITS[1:]))
    # Images that were left out when features were extracted.
    skipped = load_features(file, lazy=True).skipped
    splits = [
        s.take([row for row, i in enumerate(s.image_ids) if i not in skipped])
        for s in splits
    ]
    vocabulary = build_vocabulary(splits[0], settings.min_count)
    splits = [
        s.take(range(len(s))[: (limits or {}).get(kind)])
        for kind, s in zip(SPLITS, splits)
    ]
    features = [load_features(file, s.image_ids, lazy=True) for s in splits]
    shown = Photographs(images, splits[2].filenames)
    about = {"name": name, "test_images": shown}
    return _encoded(splits, features, settings, vocabulary, **about)


#: Loaders of drawn data, by name.
WORLDS = {"world": caption_world, "clips": caption_videos}
#: Sizes of drawn data by settings, if not the default ones.
SIZES = {"quick": {"train": 64, "val": 8, "test": 16, "encoder_epochs": 1}}


def drawn_sizes(options) -> dict:
    """Sizes of drawn data that the options of a command ask for."""
    limits = getattr(options, "limit", None) or {}
    return {**SIZES.get(options.settings, {}), **limits}


def load_data(
    name: str,
    settings,
    root=None,
    train_split: str | None = None,
    before=None,
    images=None,
    limits=None,
    **options,
) -> CaptionData:
    """The data that a command is asked for.

    Args:
        images: String or path of the folder of the photographs. Optional.
        limits: As that of `caption_files()`, for data in files. Optional.
        before: Function without arguments that is called before data are
            loaded, which may take minutes. Optional.
    """
    drawn = name in WORLDS
    if not drawn and root is None:
        raise ValueError(f"--data {name} needs --root, a folder.")
    of_files = {"train-split": train_split, "images": images}
    for option, value in of_files.items():
        if drawn and value is not None:
            raise ValueError(
                f"`--{option}` must come with data in files. Received: "
                f"--{option} {value} --data {name}."
            )
    if before:
        before()
    if drawn:
        return WORLDS[name](settings, root, **options)
    train = train_split or "train"
    data = caption_files(settings, root, train, images, limits)
    if len(data.train) < 2:
        raise ValueError(
            f"`root` must hold at least two images of {train}, since a "
            f"listener distinguishes images. Received: {len(data.train)} in "
            f"{str(root)!r}. Add another one to that split."
        )
    return data


def lacks_validation(root) -> bool:
    """Checks whether captions have splits, but none for validation."""
    splits = {*load_captions(_only(root, *_CAPTIONS), "all").splits} - {""}
    return bool(splits) and "val" not in splits


def _encoded(splits, features, settings, vocabulary=None, **about):
    vocabulary = vocabulary or build_vocabulary(splits[0], settings.min_count)
    encoded = [
        EncodedCaptions.from_split(split, vocabulary, settings.max_length)
        for split in splits
    ]
    digests = tuple(map(feature_digest, features))
    # A speaker that sees the image as a whole has no use for more.
    positions, pooled = features[0].shape[1], settings.speaker == "show_tell"
    if pooled:
        features = [pool_positions(x) for x in features]
    ready = StandardizedFeatures(features[0])
    scale = {"mean": ready.mean, "deviation": ready.deviation}
    return CaptionData(
        *encoded,
        *features,
        features[0],
        standardization={**scale, "pooled": pooled, "positions": positions},
        feature_digests=digests,
        **about,
    )


def _read_once(path, names):
    """Splits of a file that is read once for all of them."""
    whole = load_captions(path, "all")
    known = {*whole.splits} - {""}
    train, *others = names
    if known and "val" not in known:
        others = ["test"] * len(others)
    names = [name.split("+") for name in (train, *others)]
    asked = list(dict.fromkeys(itertools.chain(*names)))
    if not known.issuperset(asked):
        # From lists beside the file, if they are there.
        whole = load_captions(path, asked)
    return [
        whole.take([i for i, x in enumerate(whole.splits) if x in wanted])
        for wanted in names
    ]


def _only(root, *patterns):
    """The one file of a folder whose name is like one of these."""
    paths = sorted(
        path
        for pattern in patterns
        for path in glob.glob(os.path.join(str(root), pattern))
        if _LEMMAS not in os.path.basename(path)
    )
    if len(paths) != 1:
        names = ", ".join(map(os.path.basename, paths)) or "none"
        raise ValueError(
            f"`root` must hold one file {' or '.join(patterns)}. Received: "
            f"root={str(root)!r}, which holds {names}."
        )
    return paths[0]
