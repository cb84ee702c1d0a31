"""Reading the relevance that people gave to each answer option."""

import numpy as np

from tfcap.io import malformed
from tfcap.io import read_json

_FETCH = "Get the file again from https://visualdialog.org/data."


def load_relevance(path, image_ids, present):
    """Reads VisDial's dense annotations.

    Annotations of other images than those asked for are skipped.

    Args:
        path: String or path of the published file: a list of objects with
            `image_id`, `round_id` (from 1) and `gt_relevance` (`relevance`
            in the training sample).
        image_ids: Integer array of shape `(M,)`, distinct.
        present: Boolean array of shape `(M, R, N)`, which options exist.

    Returns:
        Float array of shape `(M, R, N)`, NaN where nothing is annotated.
    """
    entries = read_json(path)
    if not isinstance(entries, list):
        raise malformed(path, "", "there is no list of annotations", _FETCH)
    row_of = {int(image): row for row, image in enumerate(image_ids)}
    relevance = np.full(present.shape, np.nan, np.float32)
    matched = False
    for i, entry in enumerate(entries):
        image, round_id, values = _fields(path, i, entry)
        row = row_of.get(image)
        if row is None:
            continue
        matched = True
        where = f"annotation {i} (image {image}), round {round_id}"
        if not 1 <= round_id <= present.shape[1]:
            problem = f"`round_id` is not in 1..{present.shape[1]}"
            raise malformed(path, where, problem, _FETCH)
        wanted = int(present[row, round_id - 1].sum())
        if len(values) != wanted:
            problem = f"there are {len(values)} relevances, not {wanted}"
            raise malformed(path, where, problem, _FETCH)
        if not all(map(_is_relevance, values)):
            problem = "a relevance is no number from 0 to 1"
            raise malformed(path, where, problem, _FETCH)
        if not np.isnan(relevance[row, round_id - 1]).all():
            problem = "the round is annotated again"
            raise malformed(path, where, problem, "Keep one annotation of it.")
        relevance[row, round_id - 1, :wanted] = values
    if entries and not matched:
        raise malformed(
            path,
            "",
            "no annotation is about an image of the dialogs",
            "Pass the annotations of the same version and split.",
        )
    return relevance


def _is_relevance(value):
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= 1


def _fields(path, i, entry):
    if not isinstance(entry, dict):
        raise malformed(path, f"annotation {i}", "is no object", _FETCH)
    values = entry.get("gt_relevance", entry.get("relevance"))
    image, round_id = entry.get("image_id"), entry.get("round_id")
    wanted = [
        ("image_id", image, int),
        ("round_id", round_id, int),
        ("gt_relevance", values, list),
    ]
    for key, value, kind in wanted:
        if type(value) is not kind:
            where, problem = f"annotation {i}", f"`{key}` is missing or wrong"
            raise malformed(path, where, problem, _FETCH)
    return image, round_id, values
