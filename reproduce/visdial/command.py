"""The command of visual dialog: from images to tables."""

import argparse
import copy
import json
import os
import pathlib
import shlex
import sys
import warnings

import keras
import tensorflow as tf

from reproduce.options import EPOCHS_HELP
from reproduce.options import adapted
from reproduce.options import epoch_numbers
from reproduce.visdial import ranks
from reproduce.visdial import summary
from reproduce.visdial.data import challenge_data
from reproduce.visdial.data import challenge_path
from reproduce.visdial.data import visdial_data
from reproduce.visdial.data import world_data
from reproduce.visdial.experiment import DialogExperiment
from reproduce.visdial.page import write_page
from reproduce.visdial.partner import partner_of
from reproduce.visdial.rows import ABLATIONS
from reproduce.visdial.rows import ROWS
from reproduce.visdial.settings import SETTINGS
from reproduce.visdial.tables import dialog_tables
from reproduce.visdial.tables import sample_table
from tfcap._io import command
from tfcap._io import make_folder
from tfcap.launch import run_as_workers
from tfcap.training import is_chief
from tfcap.training import open_strategy

#: Sizes of the synthetic world that are not its own, by settings.
SIZES = {
    "world": {"train": 5000},
    "quick": {"train": 100, "val": 10, "test": 20, "encoder_epochs": 1},
}
_COMMAND = ("-m", "reproduce", "visdial")
#: Rows that are trained unless others are named; a caller may add some.
_PUBLISHED = tuple(row for row in ROWS if row not in ABLATIONS)


def main(arguments: list[str] | None = None, program=_COMMAND):
    """Trains and ranks rows, or runs `ranks` or `summary`.

    Returns:
        Integer, the exit status: 0; 2 if an option or the data are not as they
        should be; 130 after Ctrl-C.
    """
    given = sys.argv[1:] if arguments is None else [*map(str, arguments)]
    if given[:1] == ["ranks"]:
        return ranks.main(given[1:])
    if given[:1] == ["summary"]:
        return summary.main(given[1:])
    return _train(given, parse(given), list(program))


def parse(arguments):
    """Options of the command, checked."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce visdial",
        description="Best of Both Worlds (Lu et al., NIPS 2017), from images "
        "to tables. The same command goes on where it was stopped.",
        epilog="`visdial ranks --help` and `visdial summary --help`: ranks of "
        "the challenge's test split, and tables over several runs.",
    )
    add = parser.add_argument
    add("--out", type=pathlib.Path, help="default: runs/visdial_gdis[_quick]")
    add("--seed", type=int, default=0, help="of weights, batches, samples")
    add(
        "--seeds",
        type=lambda text: [int(seed) for seed in text.split(",")],
        help="several, with commas; each has a folder in --out",
    )
    add("--quick", action="store_true", help="a smoke run: no real figures")
    add("--workers", type=int, help="processes that train as one, here")
    add("--trusted-network", action="store_true", help="for --workers")
    add("--data", choices=("world", "visdial"), default="world")
    add("--root", help="folder of VisDial's files, or of built worlds")
    add("--vgg19-weights", help='to read COCO images: "imagenet" or a path')
    add("--skip-unreadable", action="store_true", help="leave bad images out")
    add("--norm", type=float, help="length to scale VisDial's features to")
    add(
        *("--rows", "--methods"),
        default=",".join(_PUBLISHED),
        help="with commas; default: the paper's",
    )
    add("--settings", choices=SETTINGS, help="default: world, or published")
    add("--epochs", type=epoch_numbers, metavar="N", help=EPOCHS_HELP)
    add("--test-dialogs", type=int, help="first ones to rank; default: all")
    add(
        "--validation-dialogs",
        **{"type": int, "default": 100, "metavar": "N"},
        help="ranked after every epoch; default: 100",
    )
    add("--ranks", action="store_true", help="of the challenge's test split")
    add("--talk", nargs="?", type=int, const=0, metavar="N", help="on image N")
    options = parser.parse_args(arguments)
    wanted = options.rows.split(",")
    if not set(wanted) <= set(ROWS):
        parser.error(f"--rows must be among {', '.join(ROWS)}")
    options.rows = [row for row in ROWS if row in wanted]
    if options.data == "visdial" and options.root is None:
        parser.error("--data visdial needs --root, the folder of its files")
    if options.ranks:
        if options.data != "visdial":
            parser.error("--ranks needs --data visdial, and its test split")
        try:
            challenge_path(options.root)
        except ValueError as error:
            parser.error(f"--ranks: {error}")
    usual = "published" if options.data == "visdial" else "world"
    options.settings = options.settings or ("quick" if options.quick else usual)
    folder = "visdial_gdis_quick" if options.quick else "visdial_gdis"
    options.out = options.out or pathlib.Path("runs", folder)
    return options


@command()
def _train(arguments, options, program):
    if options.workers and not os.environ.get("TF_CONFIG"):
        workers = [sys.executable, *program, *arguments]
        run_as_workers(workers, options.workers, options.trusted_network)
    strategy = open_strategy()
    # Every row compiles graphs of its own, which TensorFlow remarks on.
    tf.get_logger().setLevel("ERROR")
    # Graphs that run a dozen times cost more to build than they save.
    warnings.filterwarnings("ignore", message="Even though the `tf.config")
    eager = options.quick and strategy.num_replicas_in_sync == 1
    tf.config.run_functions_eagerly(eager)
    done = []
    try:
        # Before minutes of work that a folder has to take.
        make_folder(options.out)
        data = load_data(options)
        if options.test_dialogs is not None:
            data = data.first(options.test_dialogs)
        runs = runs_of(options)
        for run in runs:
            run_rows(run, data, strategy, done)
        if len(runs) > 1 and is_chief():
            summary.main([str(run.out) for run in runs])
    except KeyboardInterrupt:
        total = len(options.rows) * len(options.seeds or [options.seed])
        print(f"\nStopped after {len(done)} of {total} rows.")
        print("What is done is kept. To go on, run the same command again:")
        print("   python", shlex.join([*program, *arguments]))
        return 130
    finally:
        tf.config.run_functions_eagerly(False)
    return 0


def load_data(options):
    """The `DialogData` of the options."""
    if options.data == "visdial":
        return visdial_data(
            options.root,
            options.vgg19_weights,
            options.norm,
            options.skip_unreadable,
        )
    return world_data(options.root, **SIZES.get(options.settings, {}))


def runs_of(options):
    """The options of each seed."""
    if options.seeds is None:
        return [options]
    runs = []
    for seed in options.seeds:
        runs.append(copy.copy(options))
        runs[-1].seed, runs[-1].out = seed, options.out / str(seed)
    return runs


def run_rows(options, data, strategy: tf.distribute.Strategy, done: list):
    """Trains and ranks the rows of one seed, and writes their figures."""
    settings = adapted(SETTINGS[options.settings], options.epochs)
    experiment = DialogExperiment(
        *(data, settings, options.out, options.seed),
        validation_dialogs=options.validation_dialogs,
    )
    if options.talk is not None:
        talk(experiment, options)
        return
    with strategy.scope():
        for number, row in enumerate(options.rows, 1):
            experiment.say(f"\n[{number}/{len(options.rows)}]")
            experiment.result(row)
            done.append(row)
        ranked = options.rows if options.ranks else ()
        # Of several workers all load them, since that makes variables.
        networks = {row: experiment.networks(row) for row in ranked}
        chief = is_chief()
    if chief:
        report(experiment, options)
    if chief and networks:
        rank(experiment, options, networks)


def report(experiment, options):
    """Writes and prints tables, figures and a page."""
    out, figures = options.out, experiment.report(options.rows)
    (out / "results.json").write_text(json.dumps(figures, indent=1))
    note = "A quick run: what is found means nothing." if options.quick else ""
    texts = [note, dialog_tables(figures["rows"], figures["data"])]
    shown = [r for r in ("hciae_g_mle", "hciae_g_dis") if r in options.rows]
    if "hciae_g_dis" in shown:
        texts.append(sample_table(experiment))
    text = "\n\n".join(filter(None, texts))
    (out / "tables.md").write_text(text + "\n")
    print(f"\n{text}\n")
    if shown:
        path, results = out / "page.html", figures["rows"]
        write_page(path, experiment, shown, note=note, results=results)
        print(f"Pictures and answers: {out / 'page.html'}")
    print(f"Figures: {out / 'results.json'}, {out / 'tables.md'}")
    print(f"Curves: tensorboard --logdir {out}")


def rank(experiment, options, networks):
    """Writes how networks rank the challenge's test split."""
    words, weights = experiment.data.train.vocabulary, options.vgg19_weights
    data = challenge_data(options.root, words, weights, options.norm)
    size = experiment.settings.evaluation_batch_size
    for row, learners in networks.items():
        for path in ranks.write_ranks(learners, *data, options.out / row, size):
            print(f"Ranks of the challenge's test split: {path}")


def talk(experiment, options):
    """Answers questions about a test image, until an empty line."""
    test = experiment.data.test
    index = options.talk % len(test)
    partner = partner_of(experiment, index)
    image = experiment.data.test_images(index)
    if image is not None:
        keras.utils.save_img(options.out / "talk.png", image, scale=False)
        print(f"The image: {options.out / 'talk.png'}")
    print(f"Its caption: {test.vocabulary.decode(test.captions[index])}")
    print("Ask about it; an empty line ends.", flush=True)
    for question in map(str.strip, sys.stdin):
        if not question:
            break
        answer = partner.ask(question)
        for word in partner.unknown:
            print(f'(I do not know the word "{word}".)')
        print(answer or "(says nothing)", flush=True)
