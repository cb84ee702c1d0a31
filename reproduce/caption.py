"""Captions images: `python -m reproduce caption`.

    python -m reproduce caption SPEAKER.keras FEATURES.npy \\
        --vocabulary VOCABULARY.json --json captions.json

No references are needed. FEATURES is a file of `python -m tfcap.extract`,
extracted by the backbone that the speaker was trained with. Prints one line per
image: its id, a tab and the caption. `--json` writes COCO's format of results,
which `python -m tfcap.evaluate` and COCO's server read. Exit status: 0; 2 if a
file or an option is invalid; 130 after Ctrl-C.
"""

import argparse
import json

import numpy as np
import tensorflow as tf

from tfcap._io import can_write
from tfcap._io import command
from tfcap._io import whole_file
from tfcap.data import load_features
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Speaker
from tfcap.text import Vocabulary
from tfcap.training import load_network


@command(ValueError, ImportError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    options = _parser().parse_args(arguments)
    if options.json and not can_write(options.json):
        raise ValueError(
            "`--json` must be a file in a folder that can be written to. "
            f"Received: --json {options.json}. Make the folder first."
        )
    vocabulary = Vocabulary.load(options.vocabulary)
    speaker = _speaker(options.speaker, vocabulary)
    features = load_features(options.features, lazy=True)
    kinds = {"max_length": options.max_length, "suppress": (vocabulary.unk,)}
    decoder = Greedy(**kinds)
    if options.beam is not None:
        decoder = BeamSearch(options.beam, **kinds)
    written = []
    for image_id, tokens in _said(speaker, decoder, features, options):
        caption = vocabulary.decode(tokens)
        written.append({"image_id": image_id, "caption": caption})
        print(f"{image_id}\t{caption}", flush=True)
    if options.json:
        with whole_file(options.json, "w") as file:
            json.dump(written, file, ensure_ascii=False, indent=1)
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m reproduce caption",
        description="Captions images with a saved speaker.",
    )
    add = parser.add_argument
    add("speaker", help="speaker, as `speaker.save()` wrote it")
    add("features", help="feature file, as `python -m tfcap.extract` wrote it")
    add("--vocabulary", required=True, help="file of `Vocabulary.save()`")
    add("--json", metavar="OUT", help="file of captions, as COCO's results")
    add("--max-length", type=int, default=16, help="words with the end token")
    add("--beam", type=int, metavar="W", help="width of a beam search")
    add("--batch-size", type=int, default=64, help="images per batch")
    return parser


def _speaker(path, vocabulary):
    speaker = load_network(path, compile=False, hint="Train the speaker anew.")
    size = getattr(speaker, "vocabulary_size", vocabulary.size)
    if not isinstance(speaker, Speaker) or size != vocabulary.size:
        raise ValueError(
            "SPEAKER must be an autoregressive speaker over the "
            f"{vocabulary.size} ids of `--vocabulary`. Received: {path!r}, a "
            f"{type(speaker).__name__} over {size}. Pass the vocabulary that "
            "was saved beside the speaker."
        )
    return speaker


def _said(speaker, decoder, features, options):
    """Yields the id of each image and the words of its caption."""

    @tf.function(reduce_retracing=True, autograph=False)
    def decode(inputs):
        state = speaker.begin(inputs, training=False)
        return decoder.decode(speaker, state, training=False).tokens[:, 0]

    places = np.arange(features.shape[1])
    for start in range(0, len(features), options.batch_size):
        part = np.arange(start, len(features))[: options.batch_size]
        inputs = {"image": tf.constant(features[part], "float32")}
        if features.counts is not None:
            inputs["image_mask"] = tf.constant(
                places < features.counts[part, None]
            )
        try:
            tokens = decode(inputs).numpy()
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            raise ValueError(
                "FEATURES must be like those that the speaker was trained on. "
                f"Received: {options.features!r} with features of shape "
                f"{features.shape[1:]}. {error}"
            ) from error
        yield from zip([features.image_ids[row] for row in part], tokens)
