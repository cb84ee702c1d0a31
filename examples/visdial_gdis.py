"""Best of Both Worlds (Lu et al., NIPS 2017), from images to tables.

    python examples/visdial_gdis.py             # the embedded world
    python examples/visdial_gdis.py --quick     # a minute, to see it run
    python examples/visdial_gdis.py --talk      # ask the trained model
    python examples/visdial_gdis.py --data visdial --root DIR
    python examples/visdial_gdis.py --data visdial --root DIR --ranks

Trains discriminators and generators, ranks what they say, and leaves tables,
figures, a page to look at and TensorBoard logs in a folder. Ctrl-C stops it;
the same command goes on. With `--workers 2`, two processes train as one. With
`--ranks`, a file of ranks of the Visual Dialog Challenge's test split is
written for every network, in the format of its server.
"""

import argparse
import json
import pathlib
import shlex
import sys
import warnings

import keras
import tensorflow as tf

from reproduce.visdial import ROWS
from reproduce.visdial import SETTINGS
from reproduce.visdial import DialogPartner
from reproduce.visdial import DialogStudy
from reproduce.visdial import challenge_data
from reproduce.visdial import challenge_path
from reproduce.visdial import dialog_tables
from reproduce.visdial import sample_table
from reproduce.visdial import visdial_data
from reproduce.visdial import world_data
from reproduce.visdial import write_page
from reproduce.visdial import write_ranks
from tfcap.io import command
from tfcap.io import make_folder
from tfcap.launch import launch_script
from tfcap.training import is_chief
from tfcap.training import open_strategy

#: Sizes of the embedded world that are not its own, by settings.
SIZES = {
    "world": {"train": 5000},
    "quick": {"train": 100, "val": 10, "test": 20, "encoder_epochs": 1},
}


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--out", type=pathlib.Path, help="default: runs/visdial_gdis[_quick]")
    add("--seed", type=int, default=0, help="of weights, batches, samples")
    add("--quick", action="store_true", help="a smoke run: no real figures")
    add("--workers", type=int, help="processes that train as one, here")
    add("--trusted-network", action="store_true", help="for --workers")
    add("--data", choices=("world", "visdial"), default="world")
    add("--root", help="folder of VisDial's files, or of built worlds")
    add("--vgg19-weights", help='to read COCO images: "imagenet" or a path')
    add("--skip-unreadable", action="store_true", help="leave bad images out")
    add("--norm", type=float, help="length to scale VisDial's features to")
    add("--rows", default=",".join(ROWS), help="with commas; default: all")
    add("--settings", choices=SETTINGS, help="default: world, or published")
    add("--ranks", action="store_true", help="of the challenge's test split")
    add("--talk", nargs="?", type=int, const=0, metavar="N", help="on image N")
    options = parser.parse_args(argv)
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


def open_study(options):
    """The data, and what has been trained on it so far."""
    # Before minutes of work that a folder has to take.
    make_folder(options.out)
    if options.data == "visdial":
        data = visdial_data(
            options.root,
            options.vgg19_weights,
            options.norm,
            options.skip_unreadable,
        )
    else:
        sizes = SIZES.get(options.settings, {})
        data = world_data(options.root, **sizes)
    settings = SETTINGS[options.settings]
    return DialogStudy(data, settings, options.out, options.seed)


def report(study, options):
    """Writes and prints everything that there is to see."""
    out, found = options.out, study.report(options.rows)
    (out / "results.json").write_text(json.dumps(found, indent=1))
    note = "A quick run: what is found means nothing." if options.quick else ""
    texts = [note, dialog_tables(found["rows"], found["data"])]
    shown = [r for r in ("hciae_g_mle", "hciae_g_dis") if r in options.rows]
    if "hciae_g_dis" in shown:
        texts.append(sample_table(study))
    text = "\n\n".join(filter(None, texts))
    (out / "tables.md").write_text(text + "\n")
    print(f"\n{text}\n")
    if shown:
        path, results = out / "page.html", found["rows"]
        write_page(path, study, shown, note=note, results=results)
        print(f"Pictures and answers: {out / 'page.html'}")
    print(f"Figures: {out / 'results.json'}, {out / 'tables.md'}")
    print(f"Curves: tensorboard --logdir {out}")


def rank(study, options, networks):
    """Writes how networks rank the challenge's test split."""
    words, weights = study.data.train.vocabulary, options.vgg19_weights
    data = challenge_data(options.root, words, weights, options.norm)
    size = study.settings.evaluation_batch_size
    for row, players in networks.items():
        for path in write_ranks(players, *data, options.out / row, size):
            print(f"Ranks of the challenge's test split: {path}")


def talk(study, options):
    """Answers questions about a test image, until an empty line."""
    test, place = study.data.test, options.talk % len(study.data.test)
    partner = DialogPartner.from_study(study, place)
    image = study.data.test_images(place)
    if image is not None:
        keras.utils.save_img(options.out / "talk.png", image, scale=False)
        print(f"The image: {options.out / 'talk.png'}")
    print(f"Its caption: {test.vocabulary.decode(test.captions[place])}")
    print("Ask about it; an empty line ends.", flush=True)
    for question in map(str.strip, sys.stdin):
        if not question:
            break
        answer = partner.ask(question)
        for word in partner.unknown:
            print(f'(I do not know the word "{word}".)')
        print(answer or "(says nothing)", flush=True)


@command()
def main(argv=None):
    options = parse(argv)
    trusted = options.trusted_network
    status = launch_script(__file__, argv, options.workers, trusted)
    if status is not None:
        return status
    strategy = open_strategy()
    # Every row compiles graphs of its own, which TensorFlow remarks on.
    tf.get_logger().setLevel("ERROR")
    # Graphs that run a dozen times cost more to build than they save.
    warnings.filterwarnings("ignore", message="Even though the `tf.config")
    eager = options.quick and strategy.num_replicas_in_sync == 1
    tf.config.run_functions_eagerly(eager)
    done = []
    try:
        study = open_study(options)
        if options.talk is not None:
            talk(study, options)
            return 0
        with strategy.scope():
            for row in options.rows:
                study.say(f"\n[{len(done) + 1}/{len(options.rows)}]")
                study.result(row)
                done.append(row)
            ranked = options.rows if options.ranks else ()
            # Of several workers all load them, since that makes variables.
            networks = {row: study.networks(row) for row in ranked}
            chief = is_chief()
        if chief:
            report(study, options)
        if chief and networks:
            rank(study, options, networks)
    except KeyboardInterrupt:
        print(f"\nStopped after {len(done)} of {len(options.rows)} rows.")
        print("What is done is kept. To go on, run the same command again:")
        command = sys.argv if argv is None else ["visdial_gdis.py", *argv]
        print("   python", shlex.join(map(str, command)))
        return 130
    finally:
        tf.config.run_functions_eagerly(False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
