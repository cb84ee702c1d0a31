"""A speaker and a listener, trained together through words.

    python examples/cooperative_captioning.py            # the embedded world
    python examples/cooperative_captioning.py --quick    # to see it run
    python examples/cooperative_captioning.py --method reinforce_joint
    python examples/cooperative_captioning.py --data flickr8k --root DIR

Trains a listener and a speaker on human captions, and then both jointly.
Scores, captions with the rank at which the listener finds the image, a page and
TensorBoard logs are written to a folder. Ctrl-C stops the run, and the same
command resumes it. With `--workers 2`, two processes train one model.
"""

import pathlib
import sys

# `reproduce` stands beside this folder, and is not installed.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from reproduce.captioning import write_caption_page
from reproduce.example import example_parser
from reproduce.example import parse_example
from reproduce.example import run_example
from reproduce.experiment import Experiment
from reproduce.point_log import log_point
from reproduce.psst.paper import PSST
from tfcap._io import command

SHOWN = {
    "cider_d": "CIDEr-D",
    "bleu_4": "BLEU-4",
    "lm_log_prob": "log prob/word",
    "fixed_r@10": "fixed R@10",
    "r@1": "own R@1",
    "r@10": "own R@10",
    "repeated_bigram_rate": "bigram twice",
    "unfinished_rate": "unfinished",
    "bad_ending_rate": "bad endings",
}


def parse(argv):
    parser = example_parser(__doc__.splitlines()[0], "cooperative", PSST)
    add = parser.add_argument
    add("--method", choices=PSST.rows, default="psst_multinomial")
    add("--lambda", type=float, default=3e-3, dest="trade", help="trade-off")
    add("--rho", type=float, help="share of whole distributions")
    add("--seed", type=int, default=0, help="of weights, batches and samples")
    return parse_example(parser, argv)


def table(rows):
    """Scores of several points, side by side."""
    shown = [k for k in SHOWN if all(k in scores for scores in rows.values())]
    lines = [" " * 24 + "".join(f"{SHOWN[key]:>14}" for key in shown)]
    for name, scores in rows.items():
        cells = "".join(f"{scores[key]:14.3f}" for key in shown)
        lines.append(f"{name:24}{cells}")
    return "\n".join(lines)


@command()
def main(argv=None):
    options = parse(argv)
    method, numbers = options.method, {"lambda": options.trade}
    if options.rho is not None:
        numbers["rho"] = options.rho
    points = {"speaker_mle": {}, method: numbers}

    def work(data, settings):
        made = Experiment(PSST, data, settings, options.out, options.seed)
        rows = {row: made.result(row, **point) for row, point in points.items()}
        return made, rows

    status, found = run_example(__file__, argv, options, PSST, work)
    if found is None:
        return status or 0
    made, rows = found
    names = {"speaker_mle": "speaker alone"}
    shown = {names.get(row, row): scores for row, scores in rows.items()}
    print(f"\n{options.note}\n{table(shown)}\n")
    reports = {row: made.report(row, **x) for row, x in points.items()}
    named = {names.get(row, row): report for row, report in reports.items()}
    page, images = options.out / "page.html", made.data.test_images
    write_caption_page(page, named, images, note=options.note)
    for row, scores in rows.items():
        about = {"method": row, **points[row], "seed": options.seed}
        logs = options.out / "tradeoff"
        log_point(logs, about, scores, reports[row], images)
    print(f"Captions and ranks: {page}")
    kept = options.out / PSST.place(method, numbers)
    print(f"Networks and every caption: {kept}")
    print(f"Curves: tensorboard --logdir {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
