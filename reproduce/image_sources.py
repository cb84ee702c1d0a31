"""Images that a command is given: a feature file, or pictures."""

import errno
import os
import re

import numpy as np

from tfcap.data import keras_cv_backbone
from tfcap.data import keras_hub_backbone
from tfcap.data import load_features
from tfcap.data import read_image
from tfcap.data import vgg19_backbone
from tfcap.io import is_there

#: Backbones by the name that `--backbone NAME:WEIGHTS` gives them.
BACKBONES = ("vgg19", "keras_hub", "keras_cv")
_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp")
#: Names of COCO's files end in the id, with zeros before it.
_NUMBER = re.compile(r"(?:COCO_\w+_)?(\d+)")


def open_images(paths, backbone=None, image_ids=None, skipped=None):
    """Finds images and how they are seen.

    Args:
        skipped: Dict, to which the ids of pictures that cannot be read are
            added, each with its file and the reason; or `None`, where such a
            picture is an error.

    Returns:
        Pair: a list of image ids, and a function of an integer array of rows
        `(B,)` that returns those of them that are seen, and float32 features
        `(B, P, D)`. The id of a picture is its name without its ending: a
        number where it is one, and that of COCO where its name ends in one.

    Raises:
        ValueError: If there is no image, or one twice, or a backbone is
            lacking, or of no use.
        OSError: If there is no such file.
    """
    if len(paths) == 1 and str(paths[0]).endswith((".h5", ".hdf5")):
        if backbone is not None:
            raise ValueError(
                "`--backbone` must be left out for a feature file. Received: "
                f"{paths[0]!r}. Its features are there already."
            )
        features = load_features(paths[0], image_ids, lazy=True)
        ids = features.about["image_ids"][features.rows].tolist()
        return ids, lambda rows: (rows, np.asarray(features[rows], "f4"))
    pictures_by_id = _pictures(paths)
    if image_ids is not None:
        lacking = [i for i in image_ids if i not in pictures_by_id]
        if lacking:
            shown = ", ".join(map(str, lacking[:5]))
            raise ValueError(
                "`--images` must name pictures that are there. Received: "
                f"{len(lacking)} that are not ({shown})."
            )
        pictures_by_id = {i: pictures_by_id[i] for i in image_ids}
    if backbone is None:
        raise ValueError(
            "`--backbone` must be given for pictures, the one whose features "
            f"the speaker has learned from. Received: {paths[0]!r} and no "
            f"--backbone. Name {', '.join(BACKBONES)} and its weights, such "
            "as vgg19:imagenet, or give a feature file."
        )
    pictures = list(pictures_by_id.items())

    def see(rows):
        pixels = _pixels(pictures, rows, backbone.input_size, skipped)
        rows = np.array([*pixels], int)
        if not len(rows):
            return rows, np.zeros((0, 1, 1), "float32")
        grid = backbone(np.stack([*pixels.values()]))
        seen = grid.reshape(len(grid), -1, grid.shape[-1])
        # As a feature file would keep them.
        return rows, seen.astype("float16").astype("float32")

    return list(pictures_by_id), see


def _pixels(pictures, rows, size, skipped):
    """Pixels by row; those that cannot be read are put into `skipped`."""
    pixels = {}
    for row in rows:
        image_id, file = pictures[row]
        try:
            pixels[row] = read_image(file, size)
        except (FileNotFoundError, ValueError) as error:
            # A disk that fails is no fault of the image.
            cause = error.__cause__ or error
            number = getattr(cause, "errno", None)
            if skipped is None or number not in (None, errno.ENOENT):
                raise
            skipped[image_id] = f"{file} ({cause})"
    return pixels


def named_backbone(
    text: str,
    layer: str | None = None,
    input_size=None,
    preprocessing: str | None = None,
):
    """A backbone by its name.

    Raises:
        ValueError: If there is no such backbone.
        ImportError: If its package is not installed.
    """
    name, _, weights = text.partition(":")
    options = {
        "layer": layer,
        "input_size": input_size,
        "preprocessing": preprocessing,
    }
    options = {k: v for k, v in options.items() if v is not None}
    if name not in BACKBONES or not weights:
        raise ValueError(
            f"`--backbone` must be {', '.join(BACKBONES)}, a colon, and "
            f"weights or a preset. Received: --backbone {text}."
        )
    if name != "vgg19":
        make = keras_hub_backbone if name == "keras_hub" else keras_cv_backbone
        return make(weights, **options)
    if options:
        raise ValueError(
            f"`--{next(iter(options)).replace('_', '-')}` must come with a "
            f"preset. Received: --backbone {text}."
        )
    if weights != "imagenet" and not is_there(weights):
        raise FileNotFoundError(f"There is no weight file {weights!r}.")
    return vgg19_backbone(weights)


def _pictures(paths):
    """Files of pictures by their ids."""
    files = []
    for path in map(str, paths):
        if os.path.isdir(path):
            names = sorted(os.listdir(path))
            names = [n for n in names if n.lower().endswith(_ENDINGS)]
            files += [os.path.join(path, name) for name in names]
        elif is_there(path):
            files.append(path)
        else:
            raise FileNotFoundError(f"There is no image {path!r}.")
    if not files:
        raise ValueError(
            "IMAGES must be a feature file, pictures or folders of pictures. "
            f"Received: {', '.join(map(repr, paths))}, without a picture."
        )
    pictures = {}
    for file in files:
        image_id = _image_id(file)
        if image_id in pictures:
            raise ValueError(
                "IMAGES must have distinct names. Received: "
                f"{pictures[image_id]!r} and {file!r}. Rename one."
            )
        pictures[image_id] = file
    return pictures


def _image_id(path):
    stem = os.path.splitext(os.path.basename(path))[0]
    number = _NUMBER.fullmatch(stem)
    return int(number[1]) if number else stem
