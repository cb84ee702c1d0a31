"""Captions that tell their image from others, and still read well.

    python examples/distinctive_captions.py             # the embedded world
    python examples/distinctive_captions.py --quick     # to see it run
    python examples/distinctive_captions.py --rows tf,wtf,wtf_rl,rl
    python examples/distinctive_captions.py --data flickr8k --root DIR

Trains two retrievers to find images by what people say of them, a speaker by
maximum likelihood, and then the speaker to be found by the first retriever:
by human captions weighted by how they stand out (wtf), by its own (rl), or by
both (wtf_rl), beside a discriminator that keeps it to the language of people.
The second retriever, which no training saw, shows what is gained in earnest.
Leaves scores, every caption with its rank, a page to look at and TensorBoard
logs in a folder. Ctrl-C stops it; the same command goes on. With `--workers 2`,
two processes train as one.
"""

import argparse
import pathlib
import sys
import warnings

import tensorflow as tf

from reproduce.captioning import caption_files
from reproduce.captioning import caption_videos
from reproduce.captioning import caption_world
from reproduce.captioning import write_caption_page
from reproduce.distinctive import SETTINGS
from reproduce.distinctive import distinctive_grid
from reproduce.distinctive import distinctive_reports
from reproduce.distinctive import distinctive_sweep
from reproduce.distinctive import distinctive_tables
from tfcap.io import command
from tfcap.io import make_folder
from tfcap.launch import launch_script
from tfcap.training import is_chief
from tfcap.training import open_strategy

#: Drawn worlds, of images and of clips; other data come in files.
WORLDS = {"world": caption_world, "clips": caption_videos}
DATA = (*WORLDS, "flickr8k", "published")
#: Sizes of the embedded world where they are not its own.
SIZES = {"quick": {"train": 64, "val": 8, "test": 16, "encoder_epochs": 1}}


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--out", type=pathlib.Path, help="default: runs/distinctive[_quick]")
    add("--rows", default="tf,wtf_rl,rl", help="with commas")
    add("--seed", type=int, default=0, help="of weights, batches, samples")
    add("--quick", action="store_true", help="a smoke run: no real figures")
    add("--workers", type=int, help="processes that train as one, here")
    add("--trusted-network", action="store_true", help="for --workers")
    add("--data", choices=DATA, default="world")
    add("--root", help="folder of captions and features, or of built worlds")
    options = parser.parse_args(argv)
    if options.data not in WORLDS and options.root is None:
        parser.error(f"--data {options.data} needs --root, a folder")
    folder = "distinctive_quick" if options.quick else "distinctive"
    options.out = options.out or pathlib.Path("runs", folder)
    return options


def open_sweep(options):
    """The data, and what is to be trained on them."""
    # Before minutes of work that a folder has to take.
    make_folder(options.out)
    name = "quick" if options.quick else options.data
    settings = SETTINGS[name]
    load = WORLDS.get(options.data, caption_files)
    data = load(settings, options.root, **SIZES.get(name, {}))
    grid = distinctive_grid(options.rows.split(","), [options.seed])
    return data, distinctive_sweep(options.out, data, settings, grid, verbose=1)


@command()
def main(argv=None):
    options = parse(argv)
    trusted = options.trusted_network
    status = launch_script(__file__, argv, options.workers, trusted)
    if status is not None:
        return status
    strategy = open_strategy()
    tf.get_logger().setLevel("ERROR")
    # Graphs that run a dozen times cost more to build than they save.
    warnings.filterwarnings("ignore", message="Even though the `tf.config")
    eager = options.quick and strategy.num_replicas_in_sync == 1
    tf.config.run_functions_eagerly(eager)
    try:
        data, sweep = open_sweep(options)
        with strategy.scope():
            status, chief = sweep.work(), is_chief()
    except KeyboardInterrupt:
        print("\nStopped. What is done is kept; the same command goes on.")
        return 130
    finally:
        tf.config.run_functions_eagerly(False)
    if not chief:
        return status
    note = "A quick run: what is found means nothing." if options.quick else ""
    tables = distinctive_tables(sweep.records(), data.name)
    print("\n".join([note, "\n\n".join(map(str, tables))]))
    page = options.out / "page.html"
    rows = options.rows.split(",")
    reports = distinctive_reports(options.out, rows, options.seed)
    if reports:
        write_caption_page(page, reports, data.test_images, note=note)
        print(f"\nCaptions and ranks: {page}")
    print(f"Networks and every caption: {options.out / f'seed_{options.seed}'}")
    print(f"To watch: tensorboard --logdir {options.out}")
    return status


if __name__ == "__main__":
    sys.exit(main())
