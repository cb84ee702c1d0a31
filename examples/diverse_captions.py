"""A speaker that learns for CIDEr-D, and does not forget how else to say it.

    python examples/diverse_captions.py             # the embedded world
    python examples/diverse_captions.py --quick     # to see it run
    python examples/diverse_captions.py --rows xe,sll,sll_sle,pg_cider
    python examples/diverse_captions.py --data flickr8k --root DIR

Trains a speaker by maximum likelihood, and then for rewards: sequence-level
learning (sll) says one thing over and over; sequence-level exploration
(sll_sle) rewards captions of an image for being unlike each other. Leaves
scores, every caption, a page to look at and TensorBoard logs in a folder.
Ctrl-C stops it; the same command goes on. With `--workers 2`, two processes
train as one.
"""

import argparse
import pathlib
import sys
import warnings

import tensorflow as tf

from reproduce.captioning import caption_files
from reproduce.captioning import caption_videos
from reproduce.captioning import caption_world
from reproduce.sequence_level import SETTINGS
from reproduce.sequence_level import sequence_grid
from reproduce.sequence_level import sequence_sweep
from reproduce.sequence_level import sequence_tables
from reproduce.sequence_level import several_captions
from reproduce.sequence_level import write_several_page
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
    add("--out", type=pathlib.Path, help="default: runs/diverse[_quick]")
    add("--rows", default="xe,sll,sll_sle", help="with commas")
    add("--seed", type=int, default=0, help="of weights, batches, samples")
    add("--quick", action="store_true", help="a smoke run: no real figures")
    add("--workers", type=int, help="processes that train as one, here")
    add("--trusted-network", action="store_true", help="for --workers")
    add("--data", choices=DATA, default="world")
    add("--root", help="folder of captions and features, or of built worlds")
    options = parser.parse_args(argv)
    if options.data not in WORLDS and options.root is None:
        parser.error(f"--data {options.data} needs --root, a folder")
    folder = "diverse_quick" if options.quick else "diverse"
    options.out = options.out or pathlib.Path("runs", folder)
    return options


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
    name = "quick" if options.quick else options.data
    settings, rows = SETTINGS[name], options.rows.split(",")
    try:
        # Before minutes of work that a folder has to take.
        make_folder(options.out)
        load = WORLDS.get(options.data, caption_files)
        data = load(settings, options.root, **SIZES.get(name, {}))
        grid = sequence_grid(rows, [options.seed])
        sweep = sequence_sweep(options.out, data, settings, grid, verbose=1)
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
    tables = sequence_tables(sweep.records(), data.name)
    print("\n".join([note, "\n\n".join(map(str, tables))]))
    page = options.out / "page.html"
    said = several_captions(options.out, rows, options.seed)
    human, images = data.test.texts, data.test_images
    if said:
        write_several_page(page, said, human, images, note=note)
        print(f"\nSeveral samples of an image, by each speaker: {page}")
    print(f"Networks and every caption: {options.out / f'seed_{options.seed}'}")
    print(f"To watch: tensorboard --logdir {options.out}")
    return status


if __name__ == "__main__":
    sys.exit(main())
