"""Settings for data of one's own: epochs, and the words that are known."""

import argparse
import dataclasses
from typing import Any

EPOCHS_HELP = (
    "passes over the data in every phase of training, or in some, such as "
    "speaker=30,joint=5 (default: those of the settings)"
)
MIN_COUNT_HELP = (
    "least occurrences of a word that is known (default: that of the settings)"
)
LIMIT_HELP = (
    "no more than the first images of a split, such as train=8000,test=1000: "
    "of data in files, with the words of the whole; of drawn data, so many are "
    "drawn (default: all)"
)
_ENDING = "_epochs"
_SPLITS = ("train", "val", "test")


def epochs_help(settings: Any) -> str:
    """Help of `--epochs`, with the names of the phases."""
    return f"{EPOCHS_HELP}; phases: {', '.join(_phases(settings))}"


def epoch_numbers(text: str) -> dict[str, int]:
    """Numbers of epochs by phase; those of every phase under `""`.

    Example:

    >>> from reproduce.own_data import epoch_numbers
    >>> epoch_numbers("30"), epoch_numbers("speaker=30,joint=5")
    ({'': 30}, {'speaker': 30, 'joint': 5})
    """
    pairs = [part.rpartition("=")[::2] for part in text.split(",")]
    for _, number in pairs:
        if not number.isdecimal() or int(number) < 1:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no positive number of epochs, as 30, and no list "
                "of them by phase, as speaker=30,joint=5"
            )
    _check_once(text, [phase or "every phase" for phase, _ in pairs])
    return {phase: int(number) for phase, number in pairs}


def image_limits(text: str) -> dict[str, int]:
    """Greatest numbers of images by split.

    Example:

    >>> from reproduce.own_data import image_limits
    >>> image_limits("train=8000,test=1000")
    {'train': 8000, 'test': 1000}
    """
    pairs = [part.partition("=")[::2] for part in text.split(",")]
    for split, number in pairs:
        known = split in _SPLITS and number.isdecimal()
        if not known or int(number) < 1:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no list of positive numbers by split "
                f"({', '.join(_SPLITS)}), as train=8000,test=1000"
            )
    _check_once(text, [split for split, _ in pairs])
    return {split: int(number) for split, number in pairs}


def _check_once(text, names):
    """Refuses two numbers for a name, of which one would be lost."""
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise argparse.ArgumentTypeError(
            f"{text!r} has two numbers for {twice[0]}"
        )


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
        ValueError: If there is no such phase, or `min_count` is below 1.

    Example:

    >>> from reproduce.own_data import adapted
    >>> from reproduce.psst.settings import FLICKR8K
    >>> own = adapted(FLICKR8K, {"": 30, "joint": 5}, min_count=1)
    >>> own.speaker_epochs, own.joint_epochs, own.cider_epochs, own.min_count
    (30, 5, 0, 1)
    """
    now = _phases(settings)
    epochs = dict(epochs or {})
    every = epochs.pop("", None)
    if unknown := epochs.keys() - now.keys():
        raise ValueError(
            f"`--epochs` must name phases of training: {', '.join(now)}. "
            f"Received: {', '.join(sorted(unknown))}."
        )
    if min_count is not None and min_count < 1:
        raise ValueError(
            f"`--min-count` must be at least 1. Received: {min_count}."
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
    fields = {
        f.name: getattr(settings, f.name) for f in dataclasses.fields(settings)
    }
    return {
        name.removesuffix(_ENDING): getattr(value, "epochs", value)
        for name, value in fields.items()
        if name.endswith(_ENDING) or hasattr(value, "epochs")
    }
