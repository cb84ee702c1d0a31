"""Images that a command is given: a feature file, or pictures."""

import os
import re

import numpy as np

from tfcap import data
from tfcap.data import image_files
from tfcap.data import load_features
from tfcap.data import read_image

#: Backbones by the name that `--backbone NAME:WEIGHTS` gives them.
BACKBONES = ("vgg19", "keras_hub")
#: Names of COCO's files end in the id, with zeros before it.
_NUMBER = re.compile(r"(?:COCO_\w+_)?(\d+)")


def open_images(paths, backbone=None, image_ids=None, skipped=None):
    """Finds images and how they are seen.

    Args:
        image_ids: List of integers or strings, which of them to take, or
            `None` for all. Text that is no id is taken as the file name of
            one.
        skipped: Dict, to which the ids of pictures that cannot be read are
            added, each with its file and the reason; or `None`, where such a
            picture is an error.

    Returns:
        Pair: a list of image ids, and a function of an integer array of rows
        `(B,)` that returns those of them that are seen, and a dict of float32
        features `image`, `(B, P, D)`, and where some positions are padding,
        `image_mask`, `(B, P)`. The id of a picture is its name without its
        ending: a number where it is one, and that of COCO where its name ends
        in one.

    Raises:
        ValueError: If there is no image, or one twice, or a backbone is
            lacking, or of no use.
        OSError: If there is no such file.
    """
    if len(paths) == 1 and str(paths[0]).endswith(".npy"):
        if backbone is not None:
            raise ValueError(
                "`--backbone` must be left out for a feature file. Received: "
                f"{paths[0]!r}. Its features are there already."
            )
        features = load_features(paths[0], lazy=True)
        known = {i: row for row, i in enumerate(features.image_ids)}
        row_of = _chosen(known, image_ids)
        places = np.array([*row_of.values()], int)

        def read(rows):
            rows_in_file = places[rows]
            inputs = {"image": np.asarray(features[rows_in_file], "f4")}
            if features.counts is not None:
                counts = features.counts[rows_in_file, None]
                inputs["image_mask"] = np.arange(features.shape[1]) < counts
            return rows, inputs

        return [*row_of], read
    pictures_by_id = _chosen(_pictures(paths), image_ids)
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
            return rows, {}
        grid = backbone(np.stack([*pixels.values()]))
        seen = grid.reshape(len(grid), -1, grid.shape[-1])
        # As a feature file would keep them.
        return rows, {"image": seen.astype("float16").astype("float32")}

    return list(pictures_by_id), see


def _chosen(found, image_ids):
    """Of a dict by ids, what a list of images asks for, in its order."""
    if image_ids is None:
        return found
    wanted = [i if i in found else _image_id(str(i)) for i in image_ids]
    lacking = [i for i, name in zip(image_ids, wanted) if name not in found]
    if lacking:
        shown = ", ".join(map(str, lacking[:5]))
        raise ValueError(
            "`--images` must name images that are there. Received: "
            f"{len(lacking)} that are not ({shown})."
        )
    if len({*wanted}) < len(wanted):
        raise ValueError(
            "`--images` must name each image once. Received: "
            f"{len(wanted):,} names of {len({*wanted}):,} images."
        )
    return {i: found[i] for i in wanted}


def _pixels(pictures, rows, size, skipped):
    """Pixels by row; those that cannot be read are put into `skipped`."""
    pixels = {}
    for row in rows:
        image_id, file = pictures[row]
        try:
            pixels[row] = read_image(file, size)
        except (FileNotFoundError, ValueError) as error:
            if skipped is None:
                raise
            skipped[image_id] = f"{file} ({error.__cause__ or error})"
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
        return data.named_backbone(text, **options)
    if options:
        raise ValueError(
            f"`--{next(iter(options)).replace('_', '-')}` must come with a "
            f"preset. Received: --backbone {text}."
        )
    if weights != "imagenet" and not os.path.exists(weights):
        raise FileNotFoundError(f"There is no weight file {weights!r}.")
    return data.named_backbone("VGG19", weights)


def _pictures(paths):
    """Files of pictures by their ids."""
    files = []
    for path in map(str, paths):
        if os.path.isdir(path):
            files += image_files(path, "IMAGES", tell=True).values()
        elif os.path.exists(path):
            files.append(path)
        else:
            raise FileNotFoundError(f"There is no image {path!r}.")
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
