"""The command of visual dialog: `python -m reproduce visdial`."""

import argparse
import os
import pathlib
import sys

from reproduce.example import training
from reproduce.options import EPOCHS_HELP
from reproduce.options import adapted
from reproduce.options import epoch_numbers
from reproduce.study import write_json
from reproduce.visdial.data import challenge_data
from reproduce.visdial.data import challenge_path
from reproduce.visdial.data import visdial_data
from reproduce.visdial.data import world_data
from reproduce.visdial.experiment import DialogExperiment
from reproduce.visdial.page import SHOWN
from reproduce.visdial.page import sample_table
from reproduce.visdial.page import write_page
from reproduce.visdial.rows import ABLATIONS
from reproduce.visdial.rows import ROWS
from reproduce.visdial.settings import SETTINGS
from reproduce.visdial.summary import summarize
from reproduce.visdial.summary import summary_tables
from tfcap._io import command
from tfcap._io import make_folder
from tfcap.data import DialogBatches
from tfcap.data import write_visdial_ranks
from tfcap.metrics import ordinal_ranks
from tfcap.training import candidate_scores
from tfcap.training import is_chief

#: Sizes of the synthetic world by settings, if not the default ones.
SIZES = {
    "world": {"train": 5000},
    "quick": {"train": 100, "val": 10, "test": 20, "encoder_epochs": 1},
}
QUICK_NOTE = (
    "A quick run: one epoch on few dialogs, to see that every row trains. It "
    "reproduces no claim of the paper: at this size no row exceeds the MRR of "
    "the answer prior. `python examples/visdial_gdis.py --quick` trains three "
    "rows that do."
)
#: Rows that are trained by default.
_PUBLISHED = tuple(row for row in ROWS if row not in ABLATIONS)


def main(arguments: list[str] | None = None):
    """Trains rows and evaluates their rankings.

    Returns:
        Integer, the exit status: 0; 2 if an option or the data are invalid;
        130 after Ctrl-C.
    """
    given = sys.argv[1:] if arguments is None else [*map(str, arguments)]
    return _train(given, parse(given))


def parse(arguments):
    """Options of the command, checked."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce visdial",
        description="Best of Both Worlds (Lu et al., NIPS 2017), from images "
        "to tables. The same command resumes a run that was stopped.",
    )
    add = parser.add_argument
    add("--out", type=pathlib.Path, help="default: runs/visdial[_quick]")
    add("--seed", type=int, default=0, help="of weights, batches and samples")
    add(
        "--seeds",
        type=lambda text: [int(seed) for seed in text.split(",")],
        help="several, separated by commas; each has a folder in --out",
    )
    add("--quick", action="store_true", help="see every row train, in minutes")
    add("--workers", type=int, help="processes that train one model")
    add("--trusted-network", action="store_true", help="for --workers")
    add("--data", choices=("world", "visdial"), default="world")
    add("--root", help="folder of VisDial's files, or of built worlds")
    add("--vgg19-weights", help='to read COCO images: "imagenet" or a path')
    add("--norm", type=float, help="length to scale VisDial's features to")
    add("--rows", default=",".join(_PUBLISHED), help="default: the paper's")
    add("--settings", choices=SETTINGS, help="default: world, or published")
    add("--epochs", type=epoch_numbers, metavar="N", help=EPOCHS_HELP)
    add("--test-dialogs", type=int, help="rank the first N; default: all")
    add(
        "--validation-dialogs",
        **{"type": int, "default": 100, "metavar": "N"},
        help="dialogs ranked after every epoch; default: 100",
    )
    add("--ranks", action="store_true", help="rank the challenge's test split")
    options = parser.parse_args(arguments)
    wanted = options.rows.split(",")
    if not set(wanted) <= set(ROWS):
        parser.error(f"--rows must be among {', '.join(ROWS)}")
    options.rows = [row for row in ROWS if row in wanted]
    if options.data == "visdial" and options.root is None:
        parser.error("--data visdial needs --root, the folder of its files")
    if options.ranks and options.data != "visdial":
        parser.error("--ranks needs --data visdial, and its test split")
    usual = "published" if options.data == "visdial" else "world"
    options.settings = options.settings or ("quick" if options.quick else usual)
    folder = "visdial_quick" if options.quick else "visdial"
    options.out = options.out or pathlib.Path("runs", folder)
    return options


@command()
def _train(arguments, options):
    command = ["-m", "reproduce", "visdial", *arguments]
    try:
        with training(options, command) as strategy:
            # Before minutes of work that a folder has to take.
            make_folder(options.out)
            experiments = experiments_of(options, load_data(options))
            with strategy.scope():
                for experiment in experiments:
                    train_rows(experiment, options)
                chief = is_chief()
            # Outside the scope, one worker may write alone.
            if chief:
                show(experiments, options)
    except KeyboardInterrupt:
        print("\nStopped. Finished work is kept; the same command resumes.")
        return 130
    return 0


def load_data(options):
    """The `DialogData` of the options."""
    if options.ranks:
        challenge_path(options.root)
    if options.data == "visdial":
        data = visdial_data(options.root, options.vgg19_weights, options.norm)
    else:
        data = world_data(options.root, **SIZES.get(options.settings, {}))
    wanted = options.test_dialogs
    return data if wanted is None else data.first(wanted)


def experiments_of(options, data):
    """The `DialogExperiment` of each seed, in its folder."""
    settings = adapted(SETTINGS[options.settings], options.epochs)
    folders = {options.seed: options.out}
    if options.seeds:
        folders = {seed: options.out / str(seed) for seed in options.seeds}
    return [
        DialogExperiment(
            *(data, settings, folder, seed),
            validation_dialogs=options.validation_dialogs,
        )
        for seed, folder in folders.items()
    ]


def train_rows(experiment, options):
    """Trains and evaluates the rows of one seed."""
    for number, row in enumerate(options.rows, 1):
        experiment.say(f"\n[{number}/{len(options.rows)}]")
        experiment.result(row)
        if options.ranks:
            # Of several workers all load them, since that makes variables.
            experiment.networks(row)


def show(experiments, options):
    """Writes and prints tables, figures and a page of the first seed."""
    first, out, reports = experiments[0], options.out, []
    for experiment in experiments:
        reports.append(experiment.report(options.rows))
        path = os.path.join(experiment.directory, "results.json")
        write_json(path, reports[-1])
    summary = summarize(reports)
    write_json(out / "summary.json", summary)
    note = QUICK_NOTE if options.quick else ""
    seeds = ", ".join(str(experiment.seed) for experiment in experiments)
    about = f"Found on: {first.data.name}. Seeds: {seeds}."
    texts = [note, about, summary_tables(summary)]
    shown = [row for row in SHOWN if row in options.rows]
    if "hciae_g_dis" in shown:
        texts.append(sample_table(first))
    text = "\n\n".join(filter(None, texts))
    (out / "tables.md").write_text(text + "\n")
    print(f"\n{text}\n")
    if shown:
        write_page(out / "page.html", first, shown, note=note)
        print(f"Pictures and answers: {out / 'page.html'}")
    print(f"Figures: {out / 'summary.json'}, {out / 'tables.md'}")
    print(f"Curves: tensorboard --logdir {out}")
    if options.ranks:
        for experiment in experiments:
            rank(experiment, options)


def rank(experiment, options):
    """Writes rankings of the challenge's test split, for its server."""
    words, weights = experiment.data.train.vocabulary, options.vgg19_weights
    dialogs, images = challenge_data(options.root, words, weights, options.norm)
    size = min(experiment.settings.evaluation_batch_size, len(dialogs))
    batches = DialogBatches(dialogs, images, size, shuffle=False)
    for row in options.rows:
        for role, network in experiment.networks(row).items():
            scores = candidate_scores(network, batches, size)
            ranks = ordinal_ranks(scores, dialogs.options >= 0)
            path = experiment.path(row, f"ranks_{role}.json")
            write_visdial_ranks(path, dialogs, ranks)
            print(f"Ranks of the challenge's test split: {path}")
