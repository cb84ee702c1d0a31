"""Naturalness against recall: the curves of several methods.

    python examples/tradeoff_curve.py             # the embedded world
    python examples/tradeoff_curve.py --quick     # to see it run
    python examples/tradeoff_curve.py --data flickr8k --root DIR \\
        --methods psst_multinomial,st_multinomial --seeds 0,1,2

Trains every method with every lambda and seed, and draws what is there so
far. Run the same command again for what is missing, after Ctrl-C, too; run it
in several terminals at once, and they share the work. With `--workers 2`, two
processes train every point as one.
"""

import argparse
import pathlib
import sys
import warnings

import tensorflow as tf

from reproduce.captioning import SETTINGS
from reproduce.captioning import caption_files
from reproduce.captioning import caption_world
from reproduce.captioning import tradeoff_grid
from reproduce.captioning import tradeoff_sweep
from reproduce.psst_figures import curve_tables
from reproduce.psst_figures import write_curve_figure
from tfcap.io import command
from tfcap.io import make_folder
from tfcap.launch import launch_script
from tfcap.training import is_chief
from tfcap.training import open_strategy

METHODS = "psst_multinomial,st_multinomial,reinforce_joint,luo2018"
#: Sizes of the embedded world where they are not its own.
SIZES = {"quick": {"train": 64, "val": 8, "test": 16, "encoder_epochs": 1}}


def numbers(text):
    return [float(part) for part in text.split(",")]


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--out", type=pathlib.Path, help="default: runs/tradeoff[_quick]")
    add("--methods", default=METHODS, help="with commas")
    add("--lambdas", type=numbers, default=[1e-3, 2e-3, 4e-3, 8e-3])
    add("--rhos", type=numbers, default=[], help="for partial sampling")
    add("--seeds", type=numbers, default=[0])
    add("--quick", action="store_true", help="a smoke run: no real figures")
    add("--workers", type=int, help="processes that train as one, here")
    add("--trusted-network", action="store_true", help="for --workers")
    add("--data", choices=("world", "flickr8k", "published"), default="world")
    add("--root", help="folder of captions and features, or of built worlds")
    options = parser.parse_args(argv)
    if options.data != "world" and options.root is None:
        parser.error(f"--data {options.data} needs --root, a folder")
    folder = "tradeoff_quick" if options.quick else "tradeoff"
    options.out = options.out or pathlib.Path("runs", folder)
    return options


def open_sweep(options):
    # Before minutes of work that a folder has to take.
    make_folder(options.out)
    name = "quick" if options.quick else options.data
    settings = SETTINGS[name]
    if options.data == "world":
        sizes = SIZES.get(name, {})
        data = caption_world(settings, options.root, **sizes)
    else:
        data = caption_files(settings, options.root)
    grid = tradeoff_grid(
        options.methods.split(","),
        options.lambdas,
        map(int, options.seeds),
        options.rhos,
    )
    return tradeoff_sweep(options.out, data, settings, grid)


def report(sweep, options):
    """Draws and prints everything that there is so far."""
    records = sweep.records()
    if not records:
        print("No point is done yet.")
        return
    rho = SETTINGS["quick" if options.quick else options.data].rho
    for kind in ("png", "html"):
        path = options.out / f"curves.{kind}"
        write_curve_figure(path, records, rho=rho)
        print(f"Curves: {path}")
    tables = curve_tables(records, options.data, rho=rho)
    text = "\n\n".join(table.markdown() for table in tables)
    (options.out / "tables.md").write_text(text + "\n")
    print("\n\n".join(map(str, tables)))
    print(f"\nTables: {options.out / 'tables.md'}")
    print(f"Points: {options.out / 'points.jsonl'}")
    print(f"To watch: tensorboard --logdir {options.out / 'tensorboard'}")


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
    chief = False
    try:
        sweep = open_sweep(options)
        with strategy.scope():
            chief = is_chief()
            status = sweep.work()
    except KeyboardInterrupt:
        print("\nStopped. What is done is kept; the same command goes on.")
        status = 130
    finally:
        tf.config.run_functions_eagerly(False)
    if chief:
        report(sweep, options)
    return status


if __name__ == "__main__":
    sys.exit(main())
