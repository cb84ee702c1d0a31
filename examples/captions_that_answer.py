"""Captions that answer questions about drawn scenes.

    python examples/captions_that_answer.py            # some ten minutes
    python examples/captions_that_answer.py --quick    # to see it run

A speaker learns from human captions, and then to be useful: a reader who sees
its caption and no scene answers questions about the scene, and the gain over an
empty caption is the reward (`tfcap.rewards.Utility`), beside CIDEr-D. The
reader makes no errors, and scenes are drawn, so that all answers and the truth
of every claim are known; a second reader, a network that has learned from human
captions, rewards nobody and shows whether the gain transfers.

Prints captions before and after with the questions that are newly answered,
and writes captions, a page and TensorBoard logs to a folder. Ctrl-C stops the
run, and the same command resumes it.
"""

import argparse
import pathlib
import sys

# `reproduce` stands beside this folder, and is not installed.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from reproduce.captioning import write_caption_page
from reproduce.captioning.load_data import SIZES
from reproduce.captioning.load_data import load_data
from reproduce.comparisons.truth.paper import TRUTH
from reproduce.experiment import Experiment
from reproduce.point_log import log_point
from reproduce.world.questions import ExactReader
from reproduce.world.questions import scene_questions
from tfcap._io import command
from tfcap._io import make_folder
from tfcap.rewards import Utility

#: Before and after, and the names of both.
ROWS = {"mle": "before", "utility_cider": "after"}
SHOWN = {
    "utility_accuracy": "answered",
    "learned_utility_accuracy": "by a network",
    "truth_precision": "claim precision",
    "truth_recall": "fact recall",
    "mean_length": "words",
    "cider_d": "CIDEr-D",
}
#: Scenes that are printed.
PRINTED = 5


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="tiny networks, to see every step")
    add("--out", type=pathlib.Path, help="default: runs/captions_that_answer")
    add("--seed", type=int, default=0, help="of weights, batches and samples")
    options = parser.parse_args(argv)
    folder = "captions_that_answer" + "_quick" * options.quick
    options.out = options.out or pathlib.Path("runs", folder)
    return options


def table(rows):
    """Scores before and after, side by side."""
    lines = [" " * 8 + "".join(f"{title:>17}" for title in SHOWN.values())]
    for row, scores in rows.items():
        cells = "".join(f"{scores[name]:17.3f}" for name in SHOWN)
        lines.append(f"{ROWS[row]:8}{cells}")
    return "\n".join(lines)


def differences(answers):
    """Lines about the questions that only one of two captions answers right.

    Args:
        answers: Two lists of answers to the same questions, before and after.
    """
    lines = []
    for before, after in zip(*answers):
        question = after.question
        right = question.options[question.answer]
        known = before.rank == 1, after.rank == 1
        if known == (False, True):
            lines.append(f"+ {question.text} {right}")
        if known == (True, False):
            lines.append(f"- {question.text} {right}, now {after.chosen}")
    return sorted(lines)


@command()
def main(argv=None):
    options = parse(argv)
    make_folder(options.out)
    name = "quick" if options.quick else "world"
    settings = TRUTH.settings[name]
    data = load_data("world", settings, None, **SIZES.get(name, {}))
    made = Experiment(TRUTH, data, settings, options.out, options.seed)
    scores = {row: made.result(row) for row in ROWS}
    reports = {row: made.report(row) for row in ROWS}

    truth = data.truth(made.split)
    utility = Utility(scene_questions(truth), ExactReader())
    scenes = range(len(truth))
    answers = [
        utility.answers(report.captions, scenes) for report in reports.values()
    ]
    changes = [differences(pair) for pair in zip(*answers)]
    for scene in scenes[:PRINTED]:
        print(f"\nscene {scene}")
        for row, report in reports.items():
            print(f"  {ROWS[row]:7} {report.captions[scene]}")
        for line in changes[scene]:
            print(f"    {line}")
    print(f"\n{table(scores)}\n")

    page = options.out / "page.html"
    named = {ROWS[row]: report for row, report in reports.items()}
    note = "Below: + questions newly answered, - no longer answered."
    write_caption_page(page, named, data.test_images, note, changes)
    for row, found in scores.items():
        about = {"method": row, "seed": options.seed}
        shown = found, reports[row], data.test_images, truth
        log_point(options.out / "tradeoff", about, *shown)
    print(f"Captions and questions: {page}")
    print(f"Curves: tensorboard --logdir {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
