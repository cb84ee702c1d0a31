"""Inputs of a study's networks, kept in its folder."""

import dataclasses
import os

import numpy as np

from reproduce.study import write_json
from tfcap.data.mapped_features import feature_rows
from tfcap.io import is_there
from tfcap.io import malformed
from tfcap.io import read_sealed
from tfcap.text import Vocabulary
from tfcap.training import from_chief

_FILE = "inputs.json"


@dataclasses.dataclass(frozen=True)
class StudyInputs:
    """Words and image features as a study's networks know them.

    New images and dialogs must come to them alike, or ranks are wrong without
    a sign of it.

    Args:
        vocabulary: `tfcap.text.Vocabulary`.
        norm: Float, length that features were scaled to, or `None`.
        image: Pair of integers, positions P and width D of an image.
    """

    vocabulary: Vocabulary
    norm: float | None
    image: tuple


def keep_inputs(data, directory):
    """Writes what a study's networks are given; refuses a folder of another.

    Args:
        data: `DialogData`.
        directory: String or path of the study's folder.

    Raises:
        ValueError: If the folder's networks were given something else.
    """
    first = feature_rows(data.train_features, np.arange(1))
    vocabulary = data.train.vocabulary
    inputs = StudyInputs(vocabulary, data.norm, tuple(first.shape[1:]))
    path = os.path.join(str(directory), _FILE)
    # All workers write, or all compare.
    if not from_chief(is_there(path)):
        content = {
            "norm": inputs.norm,
            "image": list(inputs.image),
            "words": list(vocabulary.words),
        }
        write_json(path, content)
        return
    found = load_inputs(directory)
    for name in ("norm", "image", "vocabulary"):
        known, given = getattr(found, name), getattr(inputs, name)
        if known != given:
            raise ValueError(
                f"`data` must have the `{name}` that the study in "
                f"{str(directory)!r} began with, {known!r}. Received: "
                f"{given!r}. Choose another folder, or the data of this one."
            )


def load_inputs(directory):
    """Reads what `keep_inputs()` wrote.

    Args:
        directory: String or path of a study's folder.

    Returns:
        `StudyInputs`.

    Raises:
        ValueError: If the file is absent or damaged.
    """
    path = os.path.join(str(directory), _FILE)
    hint = "Run the study's command again: it writes the file anew."
    if not is_there(path):
        raise ValueError(
            "`directory` must be the folder of a visual dialog study. "
            f"Received: directory={str(directory)!r}, without {_FILE}. {hint}"
        )
    content = read_sealed(path, hint)
    try:
        norm = content["norm"]
        return StudyInputs(
            Vocabulary(content["words"]),
            None if norm is None else float(norm),
            tuple(int(size) for size in content["image"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        problem = f"there are no words, norm and image: {error!s:.80}"
        raise malformed(path, "", problem, hint) from error
