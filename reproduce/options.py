"""Options of the commands that train, and the settings and points they name."""

import argparse
import dataclasses
from typing import Any

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
EPOCHS_HELP = (
    "passes over the data in every phase of training, or in some, such as "
    "speaker=30,joint=5 (default: those of the settings)"
)
_ENDING = "_epochs"


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
    add(
        "--train-split",
        metavar="SPLIT",
        help="what is learned from, such as train+restval (default train)",
    )
    add(
        "--limit",
        type=image_limits,
        metavar="SPLIT=N",
        help="no more than the first images of a split, such as "
        "train=8000,test=1000: of data in files, with the words of the whole; "
        "of drawn data, so many are drawn (default: all)",
    )
    add("--settings", choices=[*paper.settings], help="default: of the data")
    add_training_options(add, next(iter(paper.settings.values())))
    add("--out", help="folder of the sweep (default runs/PAPER_DATA)")
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
        usual = ",".join(f"{x:g}" for x in paper.usual.get(name, ()))
        add(
            option,
            dest=name,
            type=list_of(float),
            metavar="X,X",
            help=f"{about} (default {usual or 'that of the settings'})",
        )
    _add_evaluation(add)
    # When the first of the processes began that follow each other.
    add("--begun", type=float, help=argparse.SUPPRESS)
    add("--quiet", action="store_true", help="print nothing")
    return parser


def add_training_options(add, settings):
    """Adds options of one's own data and of the length of training."""
    add("--images", help="folder of the photographs, to show them")
    add(
        "--epochs",
        type=epoch_numbers,
        metavar="N",
        help=f"{EPOCHS_HELP}; phases: {', '.join(_phases(settings))}",
    )
    add(
        "--min-count",
        type=int,
        metavar="N",
        help="least occurrences of a word that is known (default: that of the "
        "settings)",
    )


def _add_evaluation(add):
    """Adds options of what is evaluated, and by what."""
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
        "--metrics",
        type=list_of(str),
        default=[],
        help="scores to add, such as meteor, spice; truth, on drawn data; "
        "strangers, recall by held-out listeners; to finished points, too",
    )
    add_stranger_options(add)
    add(
        "--objects",
        metavar="FILE",
        help="list of objects and synonyms for the metric chair, a line each",
    )


def add_stranger_options(add):
    """Adds options of the panel to those of a parser."""
    add(
        "--strangers",
        metavar="FOLDER",
        help="the panel of `--metrics strangers`, held-out listeners; trained "
        "there if it is not (default runs/strangers_DATA)",
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


def asked_grid(paper, options) -> list[dict]:
    """The grid that the options of a paper's command ask for.

    Raises:
        ValueError: If a number moves none of the rows that are asked for.
    """
    axes = {}
    for name in paper.axes:
        values = getattr(options, name)
        if values is None:
            axes[name] = list(paper.usual.get(name, ()))
            continue
        axes[name] = values
        movable = [row for row in paper.known() if row in paper.axes[name]]
        if not {*options.methods} & {*movable}:
            raise ValueError(
                f"`{name}` must move a row that is trained. Received: values "
                f"of it with --methods {','.join(options.methods)}. It moves "
                f"{', '.join(movable)}."
            )
    seeds = options.seeds or paper.seeds.get(options.data)
    return paper.grid(options.methods, seeds, **axes)


def epoch_numbers(text: str) -> dict[str, int]:
    """Numbers of epochs by phase; those of every phase under `""`.

    Example:

    >>> from reproduce.options import epoch_numbers
    >>> epoch_numbers("30"), epoch_numbers("speaker=30,joint=5")
    ({'': 30}, {'speaker': 30, 'joint': 5})
    """
    pairs = [part.rpartition("=")[::2] for part in text.split(",")]
    numbers = {name: int(n) for name, n in pairs if n.isdecimal() and int(n)}
    if len(numbers) < len(pairs):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no positive number, as 30, and no list of them by "
            "name, each once, as speaker=30,joint=5"
        )
    return numbers


def image_limits(text: str) -> dict[str, int]:
    """Greatest numbers of images by split."""
    numbers, splits = epoch_numbers(text), ("train", "val", "test")
    if numbers.keys() - {*splits}:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be of {', '.join(splits)}"
        )
    return numbers


def adapted(
    settings: Any, epochs: dict | None = None, min_count: int | None = None
) -> Any:
    """Settings with other numbers of epochs, and another least count.

    Args:
        settings: Those of a paper. Phases are what their fields `*_epochs` and
            their retrievers are called after.
        epochs: Dict of integers by phase, see `epoch_numbers()`. Phases that
            the settings skip, with 0 epochs, are only trained by name.

    Raises:
        ValueError: If there is no such phase.

    Example:

    >>> from reproduce.options import adapted
    >>> from reproduce.psst.settings import FLICKR8K
    >>> own = adapted(FLICKR8K, {"": 30, "joint": 5}, min_count=1)
    >>> own.speaker_epochs, own.joint_epochs, own.cider_epochs, own.min_count
    (30, 5, 0, 1)
    """
    now, epochs = _phases(settings), dict(epochs or {})
    every = epochs.pop("", None)
    if unknown := epochs.keys() - now.keys():
        raise ValueError(
            f"`--epochs` must name phases of training: {', '.join(now)}. "
            f"Received: {', '.join(sorted(unknown))}."
        )
    if every is not None:
        used = {phase: every for phase, number in now.items() if number}
        epochs = {**used, **epochs}
    changes = {} if min_count is None else {"min_count": min_count}
    for phase, number in epochs.items():
        if hasattr(settings, phase + _ENDING):
            changes[phase + _ENDING] = number
        else:
            inner = getattr(settings, phase)
            changes[phase] = dataclasses.replace(inner, epochs=number)
    return dataclasses.replace(settings, **changes)


def _phases(settings):
    """Numbers of epochs by phase."""
    fields = dataclasses.fields(settings)
    values = {field.name: getattr(settings, field.name) for field in fields}
    return {
        name.removesuffix(_ENDING): getattr(value, "epochs", value)
        for name, value in values.items()
        if name.endswith(_ENDING) or hasattr(value, "epochs")
    }
