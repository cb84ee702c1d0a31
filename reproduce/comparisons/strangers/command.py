"""Trains the panel of held-out listeners: `python -m reproduce strangers`.

    python -m reproduce strangers --data flickr8k --root DIR

Four listeners of different architectures are trained on human captions alone.
They evaluate the captions of sweeps with `--metrics strangers`, which trains
missing listeners as well. Prints the recall of each listener by human captions
of the test split. The same command resumes. Exit status: 0; 2 if the data or
the folder are invalid; 130 after Ctrl-C.
"""

import argparse

from reproduce.captioning.load_data import WORLDS
from reproduce.captioning.load_data import drawn_sizes
from reproduce.captioning.load_data import load_data
from reproduce.comparisons.strangers.learned_data import learned_data
from reproduce.comparisons.strangers.panel import StrangerPanel
from reproduce.comparisons.strangers.settings import MAKES
from reproduce.comparisons.strangers.settings import STRANGER_SETTINGS
from reproduce.comparisons.strangers.strangers import MEAN
from reproduce.comparisons.strangers.strangers import SPREAD
from reproduce.comparisons.strangers.strangers import STRANGERS
from reproduce.comparisons.strangers.strangers import Strangers
from reproduce.options import add_stranger_options
from tfcap._io import command


def strangers_of(name, options, data):
    """The held-out listeners that the options of a command ask for.

    Args:
        name: String, of the data.
        options: Parsed options.
        data: `reproduce.captioning.CaptionData` of the speakers.

    Returns:
        `reproduce.comparisons.strangers.Strangers`.
    """
    settings = STRANGER_SETTINGS[options.settings or name]
    folder = options.strangers or f"runs/{STRANGERS}_{name}"
    split = options.strangers_split
    sizes = drawn_sizes(options) if name in WORLDS else {}
    learned = learned_data(name, settings, options.root, split, **sizes)
    verbose, seed = 0 if options.quiet else 2, options.strangers_seed
    panel = StrangerPanel(folder, learned, settings, seed, verbose)
    return Strangers(panel, data, options.split)


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce strangers",
        description="Trains the panel of held-out listeners.",
    )
    add = parser.add_argument
    known = "world", "clips", "flickr8k", "coco", "published"
    add("--data", choices=known, default="world")
    add("--root", help="folder of the data, or of built worlds")
    add("--settings", choices=STRANGER_SETTINGS, help="default: of the data")
    add_stranger_options(add)
    add("--quiet", action="store_true", help="no progress")
    parser.set_defaults(split="test")
    options = parser.parse_args(arguments)
    settings = STRANGER_SETTINGS[options.settings or options.data]
    try:
        sizes = drawn_sizes(options) if options.data in WORLDS else {}
        data = load_data(options.data, settings, options.root, **sizes)
        _tell(strangers_of(options.data, options, data), data)
    except KeyboardInterrupt:
        print("\nStopped. The same command resumes.")
        return 130
    return 0


def _tell(strangers, data):
    learned = strangers.panel.learned
    found = strangers.human_scores()
    print(
        f"seed {strangers.panel.seed}: trained on {len(learned.train):,} "
        f"images of {learned.name}, {strangers.shared:,} of them training "
        "images of speakers, too; recall@10 by human captions of "
        f"{len(data.test):,} images:"
    )
    for make in MAKES:
        print(f"  {make:14}{found[f'human_{MEAN}_{make}']:5.1f} %")
    mean, spread = found[f"human_{MEAN}"], found[f"human_{SPREAD}"]
    print(f"  {'mean':14}{mean:5.1f} %, spread {spread:.1f}", flush=True)
