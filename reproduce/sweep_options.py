"""Options of the commands that train the rows of papers, and their points."""

import argparse
import math

from reproduce.own_data import LIMIT_HELP
from reproduce.own_data import MIN_COUNT_HELP
from reproduce.own_data import epoch_numbers
from reproduce.own_data import epochs_help
from reproduce.own_data import image_limits

#: Numbers that a sweep may move, by their names in records, and the option.
AXES = {
    "lambda": ("--lambdas", "weights of the listener against naturalness"),
    "rho": ("--rhos", "probabilities of passing the whole distribution"),
    "gamma": ("--gammas", "strengths of guidance in decoding, 1 for none"),
    "temperature": ("--temperatures", "temperatures of the Gumbel-softmax"),
    "alpha": ("--alphas", "weights of the reward against what it is with"),
    "rate": ("--rates", "learning rates of the speaker"),
    "entropy_weight": ("--entropy-weights", "weights of the entropy bonus"),
    "reward_shift": ("--shifts", "constants added to the reward"),
}


def sweep_parser(paper):
    """A parser of the options of a paper."""
    parser = argparse.ArgumentParser(
        prog=f"python -m reproduce {paper.name}",
        description="Trains and evaluates rows of the paper's tables.",
    )
    add = parser.add_argument
    add(
        "--methods",
        type=list_of(str),
        default=list(paper.default),
        metavar="NAME,NAME",
        help=f"rows: any of {', '.join(paper.known())} (default "
        f"{','.join(paper.default)})",
    )
    add(
        "--data",
        choices=("world", "clips", "flickr8k", "coco", "published"),
        default="world",
        help="drawn images or clips, or files in --root with the settings for "
        "Flickr8k or the published ones",
    )
    add(
        "--root",
        help="folder of the data, one file of captions (Karpathy's "
        "dataset_*.json, Flickr's token file, or TGIF's) and one of features; "
        "or of built worlds",
    )
    add("--images", help="folder of the photographs, to show them")
    add("--limit", type=image_limits, metavar="SPLIT=N", help=LIMIT_HELP)
    phases = epochs_help(next(iter(paper.settings.values())))
    add("--epochs", type=epoch_numbers, metavar="N", help=phases)
    add("--min-count", type=int, metavar="N", help=MIN_COUNT_HELP)
    add("--out", help="folder of the sweep (default runs/PAPER_DATA)")
    _add_numbers(parser, paper)
    _add_evaluation(parser, paper)
    add(
        "--processes",
        type=int,
        default=1,
        metavar="N",
        help="train N points at once, each by a process (default 1)",
    )
    # When the first of the processes began that follow each other.
    add("--begun", type=float, help=argparse.SUPPRESS)
    add("--progress", action="store_true", help="bars instead of lines")
    add("--quiet", action="store_true", help="print nothing")
    return parser


def _add_numbers(parser, paper):
    """Adds options of seeds, and of the numbers that move rows."""
    add = parser.add_argument
    several = "; ".join(
        f"{','.join(map(str, seeds))} of {data}"
        for data, seeds in paper.seeds.items()
    )
    add(
        "--seeds",
        type=list_of(int),
        metavar="0,1",
        help=f"seeds, one after another (default {several or '0'})",
    )
    for name in paper.axes:
        option, about = AXES[name]
        usual = paper.usual.get(name, ())
        default = ",".join(f"{x:g}" for x in usual) or "that of the settings"
        add(
            option,
            dest=name,
            type=list_of(float),
            metavar="X,X",
            help=f"{about} (default {default})",
        )


def _add_evaluation(parser, paper):
    """Adds options of what is learned from, and evaluated."""
    add = parser.add_argument
    add(
        "--train-split",
        metavar="SPLIT",
        help="what is learned from, such as train+restval (default train)",
    )
    add(
        "--split",
        choices=("test", "validation"),
        default="test",
        help="what is evaluated (default test)",
    )
    add(
        "--pretrained",
        metavar="FOLDER",
        help="take the speaker of maximum likelihood from another sweep or "
        "experiment with the same data, seeds and settings of the speaker",
    )
    add(
        "--settings",
        choices=[*paper.settings],
        help="default: those of the data",
    )
    add(
        "--metrics",
        type=list_of(str),
        default=[],
        help="scores to add, such as meteor, spice; truth, on drawn data; "
        "strangers, recall by listeners that never met the speakers",
    )
    add_stranger_options(add)
    add(
        "--objects",
        metavar="FILE",
        help="list of objects and synonyms for the metric chair, a line each",
    )
    add(
        "--evaluate-again",
        action="store_true",
        help="add scores that were not known when a point was done, by the "
        "captions and networks that are kept: nothing is trained for them",
    )


def add_stranger_options(add):
    """Adds options of the panel to those of a parser."""
    add(
        "--strangers",
        metavar="FOLDER",
        help="the panel of `--metrics strangers`, listeners that never met "
        "the speakers; trained there if it is not (default "
        "runs/strangers_DATA)",
    )
    add(
        "--strangers-split",
        metavar="SPLIT",
        help="what the panel learns from of data in files, such as restval "
        "(default val, with train where val has fewer than 5,000 images)",
    )
    add(
        "--strangers-seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the panel, the same for all seeds of speakers "
        "(default 0)",
    )


def list_of(kind):
    """A list with commas."""

    def read(text):
        return [kind(part) for part in text.split(",")]

    read.__name__ = f"{kind.__name__} list"
    return read


#: What a number that moves rows must be, and whether it is.
_RANGES = {
    "lambda": ("at least 0", lambda x: x >= 0),
    "rho": ("in [0, 1]", lambda x: 0 <= x <= 1),
    "temperature": ("positive", lambda x: x > 0),
    "rate": ("positive", lambda x: x > 0),
}


def asked_grid(paper, options) -> list[dict]:
    """The grid that the options of a paper's command ask for.

    Raises:
        ValueError: If a number is out of its range, or moves none of the rows
            that are asked for.
    """
    axes = {}
    for name in paper.axes:
        values = getattr(options, name)
        if values is None:
            axes[name] = list(paper.usual.get(name, ()))
            continue
        _check_numbers(name, values)
        _check_moves(paper, name, options.methods)
        axes[name] = values
    seeds = options.seeds or paper.seeds.get(options.data)
    for seed in seeds or ():
        if not 0 <= seed < 2**32:
            raise ValueError(
                "`--seeds` must be in [0, 2**32). Received: --seeds "
                f"{','.join(map(str, seeds))}."
            )
    return paper.grid(options.methods, seeds, **axes)


def _check_numbers(name, values):
    rule, fits = _RANGES.get(name, ("finite", math.isfinite))
    for value in values:
        if not (math.isfinite(value) and fits(value)):
            raise ValueError(
                f"`{name}` must be {rule}. Received: {value:g} among those of "
                "the sweep."
            )


def _check_moves(paper, name, rows):
    """Refuses a number that would be asked for in vain."""
    movable = [row for row in paper.known() if row in paper.axes[name]]
    known = [row for row in rows if row in paper.known()]
    if known and not {*known} & {*movable}:
        raise ValueError(
            f"`{name}` must move a row that is trained. Received: values of "
            f"it with --methods {','.join(rows)}. It moves "
            f"{', '.join(movable)}."
        )
