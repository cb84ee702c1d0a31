"""Evaluates a saved speaker: `python -m reproduce evaluate`.

    python -m reproduce evaluate SPEAKER.keras LISTENER.keras \\
        CAPTIONS FEATURES.npy --vocabulary VOCABULARY.json --split test

Without LISTENER.keras, it tells naturalness alone.

A network of the recipes holds the mean and deviation that its features had in
training, and reads FEATURES.npy as it is; one that was saved without them asks
for `--standardize`. CAPTIONS is a file of Karpathy's, an annotation file of
COCO, or the token file of Flickr8k or Flickr30k. FEATURES.npy is what
`tfcap.data.extract_features()` writes. Prints how natural and how informative
the captions are; `--json OUT.json` writes the scores and every caption with
the rank at which the listener finds its image. `--several 5` also tells how
good and how different five random captions of every image are, or, with
`--beam 5`, five beams. Exit status: 0; 1 if a metric that was asked for by
name is absent; 2 if a file or an option is not as it should be.
"""

import argparse
import dataclasses
import importlib
import os
import pathlib
import sys

import numpy as np
import tensorflow as tf

from reproduce.decoder_options import add_decoder_options
from reproduce.decoder_options import decoders
from reproduce.saved_networks import AS_THEY_ARE
from reproduce.saved_networks import check_preparation
from reproduce.saved_networks import load_named
from reproduce.saved_networks import reason_of
from tfcap._io import command
from tfcap.data import CaptionBatches
from tfcap.data import EncodedCaptions
from tfcap.data import StandardizedFeatures
from tfcap.data import load_captions
from tfcap.data import load_features
from tfcap.data import pool_positions
from tfcap.data import read_image_ids
from tfcap.decoding import Speaker
from tfcap.text import METRICS
from tfcap.text import Vocabulary
from tfcap.training import Evaluator

_LISTENER = ("embed_images", "embed_texts")


@command(ValueError, ImportError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    # So that options may stand between the files, of which one is optional.
    return _run(_parser().parse_intermixed_args(arguments))


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m reproduce evaluate",
        description="Says how natural and how informative the captions of a "
        "saved speaker are.",
    )
    add = parser.add_argument
    add("speaker", help="speaker, as `speaker.save()` wrote it")
    add(
        "listener",
        nargs="?",
        help="listener that is to find the images; without, nobody listens",
    )
    add("captions", help="Karpathy's or COCO's JSON, or Flickr's token file")
    add("features", help="feature file of the images")
    add("--vocabulary", required=True, help="file of `Vocabulary.save()`")
    add("--split", help="such as test, or val+test")
    add("--images", metavar="LIST", help="file that lists the images to take")
    add("--pooled", action="store_true", help="average over positions")
    add(
        "--standardize",
        metavar="SPLIT",
        help="for networks that do not prepare images themselves: give every "
        "feature mean 0 and deviation 1 over this split, as for training, such "
        "as train+restval; `none` for networks that learned from features as "
        "they are",
    )
    add_decoder_options(parser)
    add(
        "--metrics",
        type=_metrics,
        default=[],
        metavar="NAME,NAME",
        help=f"besides BLEU, ROUGE-L and CIDEr-D any of {', '.join(METRICS)}",
    )
    add("--training", metavar="SPLIT", help="split whose captions are no news")
    add(
        "--other",
        type=_other,
        action="append",
        default=[],
        metavar="NAME=LISTENER",
        help="another listener to hear the captions; may be repeated",
    )
    add("--batch-size", type=int, default=64, help="images at once")
    add("--json", metavar="OUT", help="file for scores, captions and ranks")
    add(
        "--import",
        dest="module",
        metavar="MODULE",
        help="Python module of own networks",
    )
    add("--quiet", action="store_true", help="no progress bar")
    return parser


def _metrics(text):
    """Names of metrics from a list with commas."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in METRICS:
            raise argparse.ArgumentTypeError(
                f"must be among {', '.join(METRICS)}, with commas between. "
                f"Received: {name!r}"
            )
    return names


def _other(text):
    name, sign, path = text.partition("=")
    if not (sign and path and name.isidentifier()):
        raise argparse.ArgumentTypeError(
            f"must be a name, =, and a file. Received: {text!r}"
        )
    return name, path


def _run(options):
    if options.json:
        _check_writable(options.json)
    if options.module:
        importlib.import_module(options.module)
    vocabulary = Vocabulary.load(options.vocabulary)
    decoder, several = decoders(options, vocabulary.unk)
    speaker = load_named(options.speaker, "SPEAKER")
    if not isinstance(speaker, Speaker):
        raise ValueError(
            "SPEAKER must be a network that says one word after another. "
            f"Received: {options.speaker!r}, a {type(speaker).__name__}. "
            "The speaker comes first, then the listener."
        )
    named = dict(options.other)
    if options.listener is not None:
        named = {"": options.listener, **named}
    listeners = {k: _listener(path, vocabulary) for k, path in named.items()}
    networks = {named[name]: network for name, network in listeners.items()}
    networks = {options.speaker: speaker, **networks}
    check_preparation(networks, options.standardize)
    batches = _batches(options, vocabulary)
    _check_read(options, batches, networks)
    training = None
    if options.training:
        split = _split(options, options.training)
        training = [text for texts in split.captions for text in texts]
    # Written to a file, a progress bar is many lines.
    verbose = int(sys.stdout.isatty() and not options.quiet)
    evaluate = Evaluator(
        speaker,
        batches,
        listeners.pop("", None),
        decoder=decoder,
        metrics=options.metrics,
        training_captions=training,
        other_listeners=listeners,
        verbose=verbose,
    )
    report = evaluate()
    print(report.table())
    if several is not None:
        diverse = evaluate.diversity(several)
        kind = "random captions" if options.beam is None else "beams"
        print(f"\n{options.several} {kind} of every image\n{diverse.table()}")
        scores = {**report.scores, **diverse.scores}
        report = dataclasses.replace(report, scores=scores)
    if options.json:
        report.save(options.json)
    return int(any(name in report.absent for name in options.metrics))


def _split(options, name):
    return load_captions(options.captions, name)


def _batches(options, vocabulary):
    split = _split(options, options.split)
    if options.images:
        split = split.select(read_image_ids(options.images))
    captions = EncodedCaptions.from_split(
        split, vocabulary, max_length=options.max_length
    )
    features = _features(options, split.image_ids)
    if options.standardize not in (None, AS_THEY_ARE):
        known = _split(options, options.standardize)
        train = _features(options, known.image_ids)
        known = StandardizedFeatures(train)
        features = StandardizedFeatures(features, known.mean, known.deviation)
    size = min(options.batch_size, len(captions))
    return CaptionBatches(captions, features, size, shuffle=False)


def _features(options, image_ids):
    features = load_features(options.features, image_ids, lazy=True)
    if not options.pooled:
        return features
    return pool_positions(features)


def _listener(path, vocabulary):
    listener = load_named(path, "LISTENER")
    if not all(hasattr(listener, name) for name in _LISTENER):
        raise ValueError(
            f"LISTENER must be a network with {' and '.join(_LISTENER)}. "
            f"Received: {path!r}, a {type(listener).__name__}. The speaker "
            "comes first, then the listener."
        )
    size = getattr(listener, "vocabulary_size", vocabulary.size)
    if size != vocabulary.size:
        raise ValueError(
            f"`--vocabulary` must be the listener's. Received: {size} ids of "
            f"the listener {path!r}, {vocabulary.size} of the vocabulary."
        )
    return listener


def _check_read(options, batches, networks):
    """Refuses features of another kind than the networks learned from."""
    inputs = batches.inputs(np.arange(1))
    for path, network in networks.items():
        try:
            if path == options.speaker:
                network.begin(inputs)
            else:
                network.embed_images(inputs["image"])
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            reason = reason_of(error)
            raise ValueError(
                "FEATURES must be of the kind that the networks learned from. "
                f"Received: {options.features!r} with features of shape "
                f"{inputs['image'].shape[1:]} for {path!r}: {reason}. Take "
                "the file of their backbone, and --pooled if they had means."
            ) from error


def _check_writable(path):
    """Refuses before the work what would fail after it."""
    folder = pathlib.Path(path).absolute().parent
    usable = folder.is_dir() and os.access(folder, os.W_OK)
    if not usable or pathlib.Path(path).is_dir():
        raise ValueError(
            "`--json` must be a file in a folder that can be written to. "
            f"Received: --json {str(path)!r}. Make the folder first."
        )


if __name__ == "__main__":
    sys.exit(main())
