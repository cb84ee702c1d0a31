"""Loaders of VisDial's files: dialogs and dense annotations."""

import contextlib
import itertools
import os
from array import array
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from tfcap._io import malformed
from tfcap._io import read_json
from tfcap.data.entry_problems import field
from tfcap.data.image_names import image_key
from tfcap.data.visdial_split import VisDialSplit

_FIX = "Correct the file, or get it again from https://visualdialog.org/data."


def load_visdial(
    path: str | os.PathLike,
    dense_annotations: str | os.PathLike | None = None,
) -> VisDialSplit:
    """Loads a VisDial file, version 0.9 or 1.0, of any split.

    Every index is checked, so that a damaged file is rejected here rather than
    hours into training. Unknown keys are ignored. In a test file (`"split":
    "test"`) options and the last answer may be missing. Elsewhere only
    `gt_index` may be missing, and is then found among the options. A dialog's
    `suggested_split` is kept in `tags`.

    Args:
        path: String or path of a `visdial_*.json`, gzipped or not.
        dense_annotations: String or path, optional, of the file with the
            relevance of each option (`visdial_1.0_*_dense_*.json`).

    Returns:
        A `VisDialSplit`.

    Raises:
        ValueError: If a file is cut off or malformed. The message names the
            file, the dialog and a remedy.
    """
    content = read_json(path, object_hook=_compact)
    data = field(path, "", content, "data", "an object", _FIX)
    texts = [_texts(path, data, name) for name in ("questions", "answers")]
    dialogs = field(path, "`data`", data, "dialogs", "a list", _FIX)
    image_ids, captions, talks = [], [], []
    for i, dialog in enumerate(dialogs):
        where = f"dialog {i}"
        if isinstance(dialog, dict) and "image_id" in dialog:
            dialog["image_id"] = image_key(dialog["image_id"])
        image = field(path, where, dialog, "image_id", "an integer", _FIX)
        where = f"dialog {i} (image {image})"
        image_ids.append(image)
        captions.append(field(path, where, dialog, "caption", "text", _FIX))
        talks.append(field(path, where, dialog, "dialog", "a list", _FIX))
        if not all(isinstance(turn, dict) for turn in talks[-1]):
            raise malformed(path, where, "a round is no object", _FIX)
    if len({*image_ids}) < len(image_ids):
        ((image, _),) = Counter(image_ids).most_common(1)
        problem = f"there is a second dialog of image {image}"
        raise malformed(path, "", problem, "Keep one dialog for each image.")
    hidden = "test" in str(content.get("split", ""))
    where = [f"dialog {i} (image {image})" for i, image in enumerate(image_ids)]
    index = _read_rounds(path, where, talks, *texts, hidden)
    ids = np.array(image_ids, np.int64)
    relevance = None
    if dense_annotations is not None:
        present = index["options"] >= 0
        relevance = load_relevance(dense_annotations, ids, present)
    tags = [str(dialog.get("suggested_split", "")) for dialog in dialogs]
    return VisDialSplit(
        image_ids=ids,
        captions=captions,
        questions=texts[0],
        answers=texts[1],
        **index,
        relevance=relevance,
        tags=np.array(tags),
        source=str(path),
    )


def _texts(path, data, name):
    texts = field(path, "`data`", data, name, "a list", _FIX)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            problem = f"entry {i} is no text"
            raise malformed(path, f"`data.{name}`", problem, _FIX)
    return texts


def _read_rounds(path, places, talks, questions, answers, hidden):
    """Reads the indices of the rounds of all dialogs, -1 where absent."""
    shape = len(talks), max(map(len, talks), default=0)
    turns = itertools.chain.from_iterable(talks)
    listed = (turn.get("answer_options") for turn in turns)
    size = max((len(x) for x in listed if isinstance(x, array)), default=0)
    question, answer, truth = np.full((3, *shape), -1, np.int32)
    options = np.full((*shape, size), -1, np.int32)

    known = {*range(len(answers))}

    def index(key, total):
        value = turn.get(key)
        if type(value) is not int or not 0 <= value < total:
            problem = f"`{key}` is {value!r:.60}, not in 0..{total - 1}"
            raise malformed(path, where, problem, _FIX)
        return value

    for row, turns in enumerate(talks):
        for number, turn in enumerate(turns):
            where, here = f"{places[row]}, round {number + 1}", (row, number)
            question[here] = index("question", len(questions))
            # In a test file, the last answer of a dialog may be missing.
            hides = hidden and number == len(turns) - 1
            said = turn.get("answer")
            if said is not None or not hides:
                said = answer[here] = index("answer", len(answers))
            right = index("gt_index", size) if "gt_index" in turn else None
            listed = turn.get("answer_options")
            if listed is None and hidden:
                continue  # Without its options, a round has nothing to rank.
            whole = isinstance(listed, array) and len(listed) == size
            if not whole or not known.issuperset(listed):
                problem = f"`answer_options` are not {size} of the answers"
                raise malformed(path, where, problem, _FIX)
            options[here] = listed
            if said is not None:
                if right is None:
                    right = listed.index(said) if said in listed else 0
                if answers[listed[right]] != answers[said]:
                    problem = f"option {right} is not the answer"
                    raise malformed(path, where, problem, _FIX)
            truth[here] = -1 if right is None else right
    return {
        "question_index": question,
        "answer_index": answer,
        "options": options,
        "gt_index": truth,
    }


def _compact(record):
    """Packs a round's options into a tenth of the memory while parsing."""
    options = record.get("answer_options")
    if isinstance(options, list):
        # Lists of other things are rejected later, with their place.
        with contextlib.suppress(TypeError, OverflowError):
            record["answer_options"] = array("i", options)
    return record


def load_relevance(
    path: str | os.PathLike, image_ids: NDArray, present: NDArray
) -> NDArray:
    """Reads VisDial's dense annotations.

    Annotations of other images are ignored.

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
        raise malformed(path, "", "there is no list of annotations", _FIX)
    row_of = {int(image): row for row, image in enumerate(image_ids)}
    relevance = np.full(present.shape, np.nan, np.float32)
    for i, entry in enumerate(entries):
        where = f"annotation {i}"
        if isinstance(entry, dict):
            entry = {**entry, "image_id": image_key(entry.get("image_id"))}
        image = field(path, where, entry, "image_id", "an integer", _FIX)
        turn = field(path, where, entry, "round_id", "an integer", _FIX)
        key = "gt_relevance" if "gt_relevance" in entry else "relevance"
        values = field(path, where, entry, key, "a list", _FIX)
        row = row_of.get(image)
        if row is None:
            continue
        where = f"annotation {i} (image {image}), round {turn}"
        if not 1 <= turn <= present.shape[1]:
            problem = f"`round_id` is not in 1..{present.shape[1]}"
            raise malformed(path, where, problem, _FIX)
        expected = int(present[row, turn - 1].sum())
        if len(values) != expected or not all(map(_is_relevance, values)):
            problem = f"`{key}` are not {expected} numbers from 0 to 1"
            raise malformed(path, where, problem, _FIX)
        if not np.isnan(relevance[row, turn - 1]).all():
            problem = "the round is annotated twice"
            raise malformed(path, where, problem, "Keep one annotation of it.")
        relevance[row, turn - 1, :expected] = values
    if entries and np.isnan(relevance).all():
        problem = "no annotation is about an image of the dialogs"
        hint = "Pass the annotations of the same version and split."
        raise malformed(path, "", problem, hint)
    return relevance


def _is_relevance(value):
    return type(value) in (int, float) and 0 <= value <= 1
