"""Trains a panel of strangers: `python -m reproduce strangers`.

    python -m reproduce strangers --data flickr8k --root DIR

Four listeners of different make learn from human captions to find images, and
no speaker is there. Sweeps hear their captions under `--metrics strangers`,
which trains what is missing of the panel, too. Prints how many images of the
test split each listener finds by human captions; the same command goes on
where it was interrupted. Exit status: 0; 2 if the data or the folder are not
as they should be; 130 after Ctrl-C.
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
    """The strangers that the options of a command ask for.

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
        description="Trains listeners that never met a speaker.",
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
        print("\nStopped. The same command goes on.")
        return 130
    return 0


def _tell(strangers, data):
    learned = strangers.panel.learned
    found = strangers.human_scores()
    print(
        f"seed {strangers.panel.seed}: learned from {len(learned.train):,} "
        f"images of {learned.name}, {strangers.shared:,} of which speakers "
        f"learn from, too; by human captions of {len(data.test):,} images"
    )
    for make in MAKES:
        print(f"  {make:14}{found[f'human_{MEAN}_{make}']:5.1f} %")
    mean, spread = found[f"human_{MEAN}"], found[f"human_{SPREAD}"]
    print(f"  {'mean':14}{mean:5.1f} %, spread {spread:.1f}", flush=True)
