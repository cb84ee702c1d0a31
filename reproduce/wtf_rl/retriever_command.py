"""Trains a retriever: `python -m reproduce retriever`.

    python -m reproduce retriever OUT --data flickr8k \\
        --root DIR --network dual_encoder --seed 0

A small dual encoder learns by symmetric InfoNCE to find images by what people
say of them, on the embedded world, or on a folder in Karpathy's layout with a
feature file; nothing is downloaded. OUT/retriever holds `retriever.keras`, and
how well it finds the images of the test split. The same command goes on where
it was interrupted. For a second retriever, that training is not to see, take
another network and another seed. Exit status: 0; 2 if the data or the folder
are not as they should be; 130 after Ctrl-C.
"""

import argparse
import os
import sys
from dataclasses import replace

from reproduce.captioning import caption_files
from reproduce.captioning import caption_world
from reproduce.psst.settings import SETTINGS
from reproduce.study import write_json
from reproduce.wtf_rl.retrievers import NETWORKS
from reproduce.wtf_rl.retrievers import RETRIEVER_SETTINGS
from reproduce.wtf_rl.retrievers import evaluate_retriever
from reproduce.wtf_rl.retrievers import train_retriever
from tfcap._io import command


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    options = _parser().parse_args(arguments)
    name = options.settings or options.data
    settings = replace(RETRIEVER_SETTINGS[name], network=options.network)
    if options.epochs is not None:
        settings = replace(settings, epochs=options.epochs)
    read = caption_world if options.data == "world" else caption_files
    try:
        data = read(SETTINGS[name], options.root)
        retriever = train_retriever(
            data, settings, options.out, options.seed, int(not options.quiet)
        )
        report = evaluate_retriever(retriever, data)
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on.")
        return 130
    path = os.path.join(options.out, "retriever", "result.json")
    write_json(path, report.result())
    print(report)
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m reproduce retriever",
        description="Trains a retriever of images and captions.",
    )
    add = parser.add_argument
    add("out", help="folder of the retriever")
    add("--data", choices=("world", "flickr8k"), default="world")
    add("--root", help="folder of the data, or of built worlds")
    add("--network", choices=NETWORKS, default="dual_encoder")
    add(
        "--settings",
        choices=RETRIEVER_SETTINGS,
        help="default: those of the data",
    )
    add("--epochs", type=int, help="default: those of the settings")
    add("--seed", type=int, default=0)
    add("--quiet", action="store_true", help="no progress")
    return parser


if __name__ == "__main__":
    sys.exit(main())
