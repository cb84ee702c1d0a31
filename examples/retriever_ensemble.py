"""Captions by which held-out listeners find the image.

    python examples/retriever_ensemble.py            # the embedded world
    python examples/retriever_ensemble.py --quick    # to see it run
    python examples/retriever_ensemble.py --row psst_multinomial --lambda 0.003
    python examples/retriever_ensemble.py --data flickr8k --root DIR

Trains a speaker by maximum likelihood and three retrievers of different
architectures on human captions, and then the speaker for CIDEr-D and for these
retrievers, frozen. Held-out listeners, trained on human captions of other
scenes (on Flickr8k and on clips mostly of the same images), measure whether the
gain transfers. On the embedded world, where truth is exact, the precision of
claims is measured, too. Scores, captions, a page and TensorBoard logs are
written to a folder. Ctrl-C stops the run, and the same command resumes it. With
`--workers 2`, two processes train one model.
"""

import pathlib
import sys

# `reproduce` stands beside this folder, and is not installed.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from reproduce.captioning import write_caption_page
from reproduce.captioning.load_data import WORLDS
from reproduce.comparisons.strangers import STRANGER_SETTINGS
from reproduce.comparisons.strangers import StrangerPanel
from reproduce.comparisons.strangers import Strangers
from reproduce.comparisons.strangers.learned_data import learned_data
from reproduce.example import SIZES
from reproduce.example import example_parser
from reproduce.example import parse_example
from reproduce.example import run_example
from reproduce.experiment import Experiment
from reproduce.point_log import log_point
from reproduce.psst.paper import PSST
from tfcap._io import command

SHOWN = {
    "cider_d": "CIDEr-D",
    "fixed_r@10": "fixed R@10",
    "strangers_r@10": "held-out R@10",
    "beam_cider_d": "beam CIDEr-D",
    "beam_strangers_r@10": "held-out, beam",
    "truth_precision": "claim precision",
    "truth_recall": "fact recall",
    "truth_false": "false claims",
}


def parse(argv):
    parser = example_parser(__doc__.splitlines()[0], "retriever_ensemble", PSST)
    add = parser.add_argument
    add("--row", choices=PSST.rows, default="retriever_ensemble")
    add("--lambda", type=float, default=10.0, dest="trade", help="trade-off")
    add("--seed", type=int, default=0, help="of weights, batches and samples")
    return parse_example(parser, argv)


def held_out_listeners(data, options):
    """Makes listeners trained on human captions, of other images if any."""
    quick = options.quick
    settings = STRANGER_SETTINGS["quick" if quick else options.data]
    world = options.data in WORLDS
    sizes = SIZES["quick"] if quick and world else {}
    learned = learned_data(options.data, settings, options.root, **sizes)
    folder = options.out / "strangers"
    return Strangers(StrangerPanel(folder, learned, settings), data)


def table(rows):
    """Scores of several points, side by side."""
    shown = [k for k in SHOWN if all(k in scores for scores in rows.values())]
    lines = [" " * 20 + "".join(f"{SHOWN[key]:>17}" for key in shown)]
    for name, scores in rows.items():
        cells = "".join(f"{scores[key]:17.3f}" for key in shown)
        lines.append(f"{name:20}{cells}")
    return "\n".join(lines)


@command()
def main(argv=None):
    options = parse(argv)
    points = {"speaker_mle": {}, options.row: {"lambda": options.trade}}

    def work(data, settings):
        truth = ["truth"] * (data.truth is not None)
        made = Experiment(
            *(PSST, data, settings, options.out, options.seed),
            metrics=["strangers", *truth],
            strangers=held_out_listeners(data, options),
        )
        rows = {row: made.result(row, **point) for row, point in points.items()}
        return made, rows

    status, found = run_example(__file__, argv, options, PSST, work)
    if found is None:
        return status or 0
    made, rows = found
    print(f"\n{options.note}\n{table(rows)}\n")
    reports = {row: made.report(row, **x) for row, x in points.items()}
    page, images = options.out / "page.html", made.data.test_images
    write_caption_page(page, reports, images, note=options.note)
    known = made.data.truth(made.split) if made.data.truth else None
    for row, scores in rows.items():
        about = {"method": row, **points[row], "seed": options.seed}
        shown = scores, reports[row], images, known
        log_point(options.out / "tradeoff", about, *shown)
    print(f"Captions and ranks: {page}")
    print(f"Curves: tensorboard --logdir {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
