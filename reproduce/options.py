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
    "alpha": ("--alphas", "weights of the reward, 1 - alpha of its partner"),
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
        help="training split, such as train+restval (default train)",
    )
    add(
        "--limit",
        type=image_limits,
        metavar="SPLIT=N",
        help="number of images per split, such as train=8000,test=1000: the "
        "first ones of data in files, whose vocabulary stays the same, or "
        "how many to draw (default: all)",
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
        help=f"seeds, separated by commas (default {several or '0'})",
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
    """Adds options of data in files and of the length of training."""
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
        help="least occurrences of a word in the vocabulary (default: that of "
        "the settings)",
    )


def _add_evaluation(add):
    """Adds options of what is evaluated, and by what."""
    add(
        "--split",
        choices=("test", "validation"),
        default="test",
        help="split to evaluate (default test)",
    )
    add(
        "--pretrained",
        metavar="FOLDER",
        help="take the speaker of maximum likelihood from another sweep or "
        "experiment with the same data, seeds and speaker settings",
    )
    add(
        "--metrics",
        type=list_of(str),
        default=[],
        help="scores to add, to finished points, too: such as meteor, spice; "
        "strangers, recall by held-out listeners; truth, on drawn data",
    )
    add_stranger_options(add)
    add(
        "--objects",
        metavar="FILE",
        help="objects and synonyms for the metric chair, one object per line",
    )


def add_stranger_options(add):
    """Adds the options of the panel of held-out listeners."""
    add(
        "--strangers",
        metavar="FOLDER",
        help="folder of the held-out listeners for `--metrics strangers`, "
        "which are trained if missing (default runs/strangers_DATA)",
    )
    add(
        "--strangers-split",
        metavar="SPLIT",
        help="split to train the held-out listeners on, of data in files, such "
        "as restval (default val, and train if val has under 5,000 images)",
    )
    add(
        "--strangers-seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the held-out listeners, for all seeds of speakers "
        "(default 0)",
    )


def list_of(kind):
    """A parser of lists separated by commas."""

    def read(text):
        return [kind(part) for part in text.split(",")]

    read.__name__ = f"{kind.__name__} list"
    return read


def asked_grid(paper, options) -> list[dict]:
    """The grid that the options of a paper's command ask for.

    Raises:
        ValueError: If an option applies to none of the rows asked for.
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
                f"`{AXES[name][0]}` must apply to a row of --methods. "
                f"Received: --methods {','.join(options.methods)}. It applies "
                f"to {', '.join(movable)}."
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
            f"must be a positive integer, such as 30, or integers by name, "
            f"each once, such as speaker=30,joint=5. Received: {text!r}"
        )
    return numbers


def image_limits(text: str) -> dict[str, int]:
    """Greatest numbers of images by split."""
    numbers, splits = epoch_numbers(text), ("train", "val", "test")
    if numbers.keys() - {*splits}:
        raise argparse.ArgumentTypeError(
            f"splits must be among {', '.join(splits)}. Received: {text!r}"
        )
    return numbers


def adapted(
    settings: Any, epochs: dict | None = None, min_count: int | None = None
) -> Any:
    """Settings with other numbers of epochs and another least word count.

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
