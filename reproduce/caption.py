"""Captions images: `python -m reproduce caption`.

    python -m reproduce caption SPEAKER.keras FEATURES.npy \\
        --vocabulary VOCABULARY.json --json captions.json
    python -m reproduce caption SPEAKER.keras photos/ \\
        --vocabulary VOCABULARY.json --backbone vgg19:imagenet

Needs no references. IMAGES are a feature file, as
`tfcap.data.extract_features()` writes it, or pictures and folders of pictures,
which a backbone sees: the one whose features the speaker has learned from.
Prints a line an image, its id, a tab and the caption; `--json` writes the
format of COCO's results, which `python -m tfcap.evaluate` and COCO's server
read. Exit status: 0; 2 if a file or an option is not as it should be; 130
after Ctrl-C.
"""

import argparse
import importlib
import json
import sys

import numpy as np
import tensorflow as tf

from reproduce.decoder_options import add_decoder_options
from reproduce.decoder_options import decoders
from reproduce.decoder_options import refuse
from reproduce.image_sources import named_backbone
from reproduce.image_sources import open_images
from reproduce.saved_networks import AS_THEY_ARE
from reproduce.saved_networks import check_preparation
from reproduce.saved_networks import load_named
from reproduce.saved_networks import reason_of
from tfcap._io import can_write
from tfcap._io import command
from tfcap._io import whole_file
from tfcap.data import read_image_ids
from tfcap.decoding import Speaker
from tfcap.text import Vocabulary

#: Options of pictures, which features have no need of.
_OF_PICTURES = ("layer", "input_size", "preprocessing", "skip_unreadable")
_GIVE_NUMBERS = (
    "Give a network of the recipes its numbers once, in Python: save "
    "`speaker.with_preprocessing(layer)` with a layer "
    "`tfcap.layers.ImageStandardization` of what "
    "`tfcap.data.StandardizedFeatures` finds in its training features."
)


@command(ValueError, ImportError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    _run(_parser().parse_args(arguments))
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m reproduce caption",
        description="Says what a saved speaker sees in images.",
    )
    add = parser.add_argument
    add("speaker", help="speaker, as `speaker.save()` wrote it")
    add("paths", nargs="+", metavar="IMAGES", help="feature file, or pictures")
    add("--vocabulary", required=True, help="file of `Vocabulary.save()`")
    add("--images", metavar="LIST", help="file that lists the images to take")
    add("--json", metavar="OUT", help="file of captions, as COCO's results")
    add(
        "--backbone",
        metavar="NAME:WEIGHTS",
        help="what sees pictures: vgg19:imagenet (downloaded by Keras), "
        "vgg19:PATH or keras_hub:PRESET",
    )
    add("--layer", help="layer of a preset that is read")
    add("--input-size", type=int, nargs=2, metavar=("HEIGHT", "WIDTH"))
    add("--preprocessing", help="of a preset's pixels: raw, unit, caffe, ...")
    add(
        "--skip-unreadable",
        action="store_true",
        default=None,
        help="leave out pictures that cannot be read, and name them",
    )
    add(
        "--standardize",
        choices=(AS_THEY_ARE,),
        help="for a speaker that was saved without the mean and deviation of "
        "its features: it learned from features as they are",
    )
    add_decoder_options(parser)
    add("--batch-size", type=int, default=64, help="images at once")
    add(
        "--import",
        dest="module",
        metavar="MODULE",
        help="Python module of own networks",
    )
    return parser


def _run(options):
    if options.json and not can_write(options.json):
        raise ValueError(
            "`--json` must be a file in a folder that can be written to. "
            f"Received: --json {options.json}. Make the folder first."
        )
    if options.several is not None:
        raise ValueError(
            "`--several` must be left out. Received: --several "
            f"{options.several}. The format has one caption an image."
        )
    if options.batch_size < 1:
        raise ValueError(
            "`--batch-size` must be at least 1. Received: --batch-size "
            f"{options.batch_size}."
        )
    if options.backbone is None:
        refuse(options, _OF_PICTURES, "come with --backbone, for pictures")
    if options.module:
        importlib.import_module(options.module)
    vocabulary = Vocabulary.load(options.vocabulary)
    decoder, _ = decoders(options, vocabulary.unk)
    speaker = _speaker(options, vocabulary)
    backbone = options.backbone and named_backbone(
        options.backbone,
        options.layer,
        options.input_size,
        options.preprocessing,
    )
    wanted = read_image_ids(options.images) if options.images else None
    skipped = {} if options.skip_unreadable else None
    ids, see = open_images(options.paths, backbone, wanted, skipped)
    written = []
    for row, caption in _captions(
        speaker, decoder, see, len(ids), options, vocabulary
    ):
        written.append({"image_id": ids[row], "caption": caption})
        print(f"{ids[row]}\t{caption}", flush=True)
    _tell_skipped(skipped, written)
    if options.json:
        with whole_file(options.json, "w") as file:
            json.dump(written, file, ensure_ascii=False, indent=1)


def _tell_skipped(skipped, captions):
    """Names the pictures that are left out; refuses to leave out all."""
    for reason in (skipped or {}).values():
        print(f"left out, since it cannot be read: {reason}", file=sys.stderr)
    if not captions:
        raise ValueError(
            "IMAGES must be readable. Received: none of "
            f"{len(skipped):,} pictures that is. See that they are pictures."
        )


def _speaker(options, vocabulary):
    speaker = load_named(options.speaker, "SPEAKER")
    if not isinstance(speaker, Speaker):
        raise ValueError(
            "SPEAKER must be a network that says one word after another. "
            f"Received: {options.speaker!r}, a {type(speaker).__name__}."
        )
    size = getattr(speaker, "vocabulary_size", vocabulary.size)
    if size != vocabulary.size:
        raise ValueError(
            f"`--vocabulary` must be the speaker's. Received: {size} ids of "
            f"the speaker {options.speaker!r}, {vocabulary.size} of the "
            "vocabulary. Take the one that was saved beside it."
        )
    networks = {options.speaker: speaker}
    check_preparation(networks, options.standardize, _GIVE_NUMBERS)
    return speaker


def _captions(speaker, decoder, see, total, options, vocabulary):
    """Rows of images and their captions, a batch at a time."""

    @tf.function(reduce_retracing=True, autograph=False)
    def decode(inputs):
        state = speaker.begin(inputs, training=False)
        return decoder.decode(speaker, state, training=False).tokens[:, 0]

    for start in range(0, total, options.batch_size):
        rows = np.arange(start, min(start + options.batch_size, total))
        rows, inputs = see(rows)
        if not len(rows):
            continue
        inputs = {k: tf.convert_to_tensor(x) for k, x in inputs.items()}
        try:
            tokens = decode(inputs).numpy()
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            raise ValueError(
                "IMAGES must have features of the kind that the speaker "
                f"learned from. Received: features of shape "
                f"{inputs['image'].shape[1:]} "
                f"for {options.speaker!r}: {reason_of(error)}"
            ) from error
        yield from zip(rows, vocabulary.decode_batch(tokens))


if __name__ == "__main__":
    sys.exit(main())
