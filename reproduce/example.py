"""Options and steps that the examples of captioning share."""

import argparse
import contextlib
import os
import pathlib
import sys
import warnings

from reproduce.captioning.load_data import SIZES
from reproduce.captioning.load_data import WORLDS
from reproduce.captioning.load_data import load_data
from reproduce.options import adapted
from reproduce.options import add_training_options
from tfcap._io import make_folder
from tfcap.launch import run_as_workers
from tfcap.training import is_chief
from tfcap.training import open_strategy

QUICK_NOTE = (
    "A quick run: tiny networks, trained for an epoch or two. It shows every "
    "step; its scores do not compare methods. Runs without --quick do."
)


def example_parser(description: str, folder: str, paper):
    """A parser of the options that all examples have."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--out", type=pathlib.Path, help=f"default: runs/{folder}[_quick]")
    add("--quick", action="store_true", help="see every step in a minute")
    add("--workers", type=int, help="processes that train one model")
    add("--trusted-network", action="store_true", help="for --workers")
    names = (*WORLDS, "flickr8k", "coco", "published")
    add("--data", choices=names, default="world")
    add("--root", help="folder of captions and features, or of built worlds")
    add_training_options(add, paper.settings["flickr8k"])
    parser.set_defaults(folder=folder)
    return parser


def parse_example(parser, arguments):
    """Options of an example; the folder of the run is among them."""
    options = parser.parse_args(arguments)
    if options.data not in WORLDS and options.root is None:
        parser.error(f"--data {options.data} needs --root, a folder")
    folder = f"{options.folder}_quick" if options.quick else options.folder
    options.out = options.out or pathlib.Path("runs", folder)
    options.note = QUICK_NOTE if options.quick else ""
    return options


def example_data(paper, options):
    """Data and settings of an example."""
    # Before minutes of work that a folder has to take.
    make_folder(options.out)
    name = "quick" if options.quick else options.data
    settings = adapted(paper.settings[name], options.epochs, options.min_count)
    more = SIZES.get(name, {}) if options.data in WORLDS else {}
    more = {"images": options.images, **more}
    return load_data(options.data, settings, options.root, **more), settings


@contextlib.contextmanager
def training(options, command):
    """Opens the strategy of a run, after starting the workers asked for.

    A quick run computes eagerly: graphs that run a dozen times cost more to
    build than they save.

    Args:
        command: List of strings, what Python is called with.
    """
    import tensorflow as tf

    if options.workers and not os.environ.get("TF_CONFIG"):
        command = [sys.executable, *command]
        run_as_workers(command, options.workers, options.trusted_network)
    strategy = open_strategy()
    # Every row compiles graphs of its own, which TensorFlow remarks on.
    tf.get_logger().setLevel("ERROR")
    warnings.filterwarnings("ignore", message="Even though the `tf.config")
    eager = options.quick and strategy.num_replicas_in_sync == 1
    tf.config.run_functions_eagerly(eager)
    try:
        yield strategy
    finally:
        tf.config.run_functions_eagerly(False)


def run_example(script: str, arguments, options, paper, work):
    """Does the work of an example, on as many workers as are asked for.

    Returns:
        Pair of the exit status, `None` if all went well, and the result of
        `work`, `None` for all workers but the chief.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        with training(options, [script, *map(str, arguments)]) as strategy:
            about = example_data(paper, options)
            with strategy.scope():
                result, chief = work(*about), is_chief()
    except KeyboardInterrupt:
        print("\nStopped. Finished work is kept; the same command resumes.")
        return 130, None
    return None, result if chief else None
