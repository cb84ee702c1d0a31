"""A speaker and a listener, trained together through words.

    python examples/cooperative_captioning.py            # the embedded world
    python examples/cooperative_captioning.py --quick    # to see it run
    python examples/cooperative_captioning.py --method reinforce_joint
    python examples/cooperative_captioning.py --data flickr8k --root DIR

Trains a listener to find images by what people say of them, a speaker to say
it, and then both together. Leaves scores, every caption with the rank at which
the listener finds its image, a page to look at and TensorBoard logs in a
folder. Ctrl-C stops it; the same command goes on. With `--workers 2`, two
processes train as one.
"""

import argparse
import pathlib
import shlex
import sys
import warnings

import tensorflow as tf

from reproduce.captioning import METHODS
from reproduce.captioning import SETTINGS
from reproduce.captioning import CaptioningStudy
from reproduce.captioning import caption_files
from reproduce.captioning import caption_world
from reproduce.captioning import log_point
from reproduce.captioning import write_caption_page
from tfcap.io import command
from tfcap.io import make_folder
from tfcap.launch import launch_script
from tfcap.training import SpeakerReport
from tfcap.training import is_chief
from tfcap.training import open_strategy

#: Sizes of the embedded world where they are not its own.
SIZES = {"quick": {"train": 64, "val": 8, "test": 16, "encoder_epochs": 1}}
SHOWN = {
    "cider_d": "CIDEr-D",
    "bleu_4": "BLEU-4",
    "lm_log_prob": "log prob/word",
    "fixed_r@10": "fixed R@10",
    "r@1": "own R@1",
    "r@10": "own R@10",
    "repeated_bigram_rate": "bigram twice",
    "unfinished_rate": "unfinished",
    "bad_ending_rate": "bad ends",
}


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--out", type=pathlib.Path, help="default: runs/cooperative[_quick]")
    add("--method", choices=METHODS, default="psst_multinomial")
    add("--lambda", type=float, default=3e-3, dest="trade", help="trade-off")
    add("--rho", type=float, help="share of whole distributions")
    add("--seed", type=int, default=0, help="of weights, batches, samples")
    add("--quick", action="store_true", help="a smoke run: no real figures")
    add("--workers", type=int, help="processes that train as one, here")
    add("--trusted-network", action="store_true", help="for --workers")
    add("--data", choices=("world", "flickr8k", "published"), default="world")
    add("--root", help="folder of captions and features, or of built worlds")
    options = parser.parse_args(argv)
    if options.data != "world" and options.root is None:
        parser.error(f"--data {options.data} needs --root, a folder")
    folder = "cooperative_quick" if options.quick else "cooperative"
    options.out = options.out or pathlib.Path("runs", folder)
    return options


def open_study(options):
    """The data, and what has been trained on it so far."""
    # Before minutes of work that a folder has to take.
    make_folder(options.out)
    name = "quick" if options.quick else options.data
    settings = SETTINGS[name]
    if options.data == "world":
        sizes = SIZES.get(name, {})
        data = caption_world(settings, options.root, **sizes)
    else:
        data = caption_files(settings, options.root)
    return CaptioningStudy(data, settings, options.out, options.seed)


def table(rows):
    """Scores of several points, side by side."""
    lines = [" " * 24 + "".join(f"{t:>14}" for t in SHOWN.values())]
    for name, scores in rows.items():
        cells = "".join(f"{scores[key]:14.3f}" for key in SHOWN)
        lines.append(f"{name:24}{cells}")
    return "\n".join(lines)


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
        study = open_study(options)
        method, point = options.method, (options.trade, options.rho)
        with strategy.scope():
            rows = {
                "speaker alone": study.result("speaker_mle"),
                method: study.result(method, *point),
            }
            chief = is_chief()
        folders = study.folder("speaker_mle"), study.folder(method, *point)
    except KeyboardInterrupt:
        print("\nStopped. What is done is kept. To go on, run again:")
        command = sys.argv if argv is None else [__file__, *argv]
        print("   python", shlex.join(map(str, command)))
        return 130
    finally:
        tf.config.run_functions_eagerly(False)
    if not chief:
        return 0
    note = "A quick run: what is found means nothing." if options.quick else ""
    print(f"\n{note}\n{table(rows)}\n")
    reports = {
        name: SpeakerReport.load(pathlib.Path(folder, "captions.json"))
        for name, folder in zip(rows, folders)
    }
    page = options.out / "page.html"
    write_caption_page(page, reports, study.data.test_images, note=note)
    settings = {
        "speaker alone": {"method": "speaker_mle"},
        method: {
            "method": method,
            "lambda": options.trade,
            "rho": options.rho,
        },
    }
    for name, about in settings.items():
        about["seed"] = options.seed
        log_point(
            options.out / "tradeoff",
            *(about, rows[name], reports[name], study.data.test_images),
        )
    print(f"Captions and ranks: {page}")
    print(f"Networks and every caption: {folders[1]}")
    print(f"Curves: tensorboard --logdir {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
