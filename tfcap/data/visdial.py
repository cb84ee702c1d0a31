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
    """Reads a VisDial file, version 0.9 or 1.0, any split.

    Every index is checked, so that a damaged file is found here rather than
    hours into a training. Keys that are not known are skipped. In a test
    file (`"split": "test"`) options and the last answer may be missing;
    elsewhere only `gt_index` may be: it is then found among the options. A
    dialog's `suggested_split` is kept in `tags`.

    Args:
        path: String or path of a `visdial_*.json`, gzipped or not.
        dense_annotations: String or path, optional, of the file with the
            relevance of each option (`visdial_1.0_*_dense_*.json`).

    Returns:
        A `VisDialSplit`.

    Raises:
        ValueError: If a file is cut off or malformed; names the file, the
            dialog, and what to do.
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
    rounds = _Rounds(path, image_ids, talks, hidden)
    questions = rounds.index("question", len(texts[0]))
    answers = rounds.index("answer", len(texts[1]))
    options = rounds.read_options(len(texts[1]))
    truth = rounds.read_truth(texts[1], answers, options)
    options = rounds.scatter(options, options.shape[1:])
    ids = np.array(image_ids, np.int64)
    relevance = None
    if dense_annotations is not None:
        relevance = load_relevance(dense_annotations, ids, options >= 0)
    tags = [str(dialog.get("suggested_split", "")) for dialog in dialogs]
    return VisDialSplit(
        image_ids=ids,
        captions=captions,
        questions=texts[0],
        answers=texts[1],
        question_index=rounds.scatter(questions),
        answer_index=rounds.scatter(answers),
        options=options,
        gt_index=rounds.scatter(truth),
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


class _Rounds:
    """The rounds of all dialogs, one after another."""

    def __init__(self, path, image_ids, talks, hidden):
        counts = [len(turns) for turns in talks]
        self.path, self.image_ids, self.hidden = path, image_ids, hidden
        self.turns = [turn for turns in talks for turn in turns]
        self.shape = len(counts), max(counts, default=0)
        self.dialog_of = np.repeat(np.arange(len(counts)), counts)
        starts = np.cumsum([0, *counts])
        self.round_of = np.arange(len(self.turns)) - starts[self.dialog_of]
        # In a test file, the last answer of a dialog may be missing.
        self.last = {*(starts[1:] - 1).tolist()} if hidden else {}

    def error(self, turn, problem):
        dialog = self.dialog_of[turn]
        where = (
            f"dialog {dialog} (image {self.image_ids[dialog]}), round "
            f"{self.round_of[turn] + 1}"
        )
        return malformed(self.path, where, problem, _FIX)

    def check_index(self, turn, key, value, size):
        if type(value) is not int or not 0 <= value < size:
            problem = f"`{key}` is {value!r:.60}, not in 0..{size - 1}"
            raise self.error(turn, problem)

    def index(self, key, size):
        """Flat array of one index per round, -1 where it may be missing."""
        values = [turn.get(key) for turn in self.turns]
        for i, value in enumerate(values):
            if value is None and key == "answer" and i in self.last:
                values[i] = -1
            else:
                self.check_index(i, key, value, size)
        return np.array(values, np.int32)

    def read_options(self, answers):
        """Flat array `(rounds, N)` of the options of each round."""
        values = [turn.get("answer_options") for turn in self.turns]
        size = max((len(v) for v in values if isinstance(v, array)), default=0)
        whole = [isinstance(v, array) and len(v) == size for v in values]
        for i in np.flatnonzero(~np.array(whole, bool)):
            if values[i] is not None or not self.hidden:
                problem = f"`answer_options` are not {size} integers"
                raise self.error(i, problem)
        table = np.full((len(values), size), -1, np.int32)
        packed = b"".join(itertools.compress(values, whole))
        table[whole] = np.frombuffer(packed, np.intc).reshape(sum(whole), size)
        present = np.array(whole, bool)[:, None]
        for i, k in np.argwhere(present & ((table < 0) | (table >= answers))):
            key = f"answer_options[{k}]"
            self.check_index(i, key, int(table[i, k]), answers)
        return table

    def read_truth(self, answers, answer, options):
        """Flat array of the human answer's index among the options."""
        rows, size = np.arange(len(self.turns)), options.shape[1]
        given = np.zeros(len(rows), bool)
        truth = np.full(len(rows), -1, np.int32)
        if size:
            truth[:] = np.argmax(options == answer[:, None], axis=-1)
        for i, turn in enumerate(self.turns):
            if "gt_index" in turn:
                self.check_index(i, "gt_index", turn["gt_index"], size)
                truth[i], given[i] = turn["gt_index"], True
        # Without its options, a round has nothing to rank.
        listed = np.any(options >= 0, axis=-1)
        known = listed & (answer >= 0)
        chosen = np.where(known, options[rows, truth], -1) if size else answer
        for i in np.flatnonzero(known & (chosen != answer)):
            if answers[chosen[i]] != answers[answer[i]]:
                raise self.error(i, f"option {truth[i]} is not the answer")
        return np.where(listed & (known | given), truth, -1)

    def scatter(self, flat, inner=()):
        table = np.full((*self.shape, *inner), -1, np.int32)
        table[self.dialog_of, self.round_of] = flat
        return table


def _compact(record):
    """Packs a round's options while parsing: a tenth of the memory."""
    options = record.get("answer_options")
    if isinstance(options, list):
        # What is no list of integers stays, and is refused by its place.
        with contextlib.suppress(TypeError, OverflowError):
            record["answer_options"] = array("i", options)
    return record


def load_relevance(
    path: str | os.PathLike, image_ids: NDArray, present: NDArray
) -> NDArray:
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
        raise malformed(path, "", "there is no list of annotations", _FIX)
    row_of = {int(image): row for row, image in enumerate(image_ids)}
    relevance = np.full(present.shape, np.nan, np.float32)
    matched = False
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
        matched = True
        where = f"annotation {i} (image {image}), round {turn}"
        if not 1 <= turn <= present.shape[1]:
            problem = f"`round_id` is not in 1..{present.shape[1]}"
            raise malformed(path, where, problem, _FIX)
        expected = int(present[row, turn - 1].sum())
        if len(values) != expected or not all(map(_is_relevance, values)):
            problem = f"`{key}` are not {expected} numbers from 0 to 1"
            raise malformed(path, where, problem, _FIX)
        if not np.isnan(relevance[row, turn - 1]).all():
            problem = "the round is annotated again"
            raise malformed(path, where, problem, "Keep one annotation of it.")
        relevance[row, turn - 1, :expected] = values
    if entries and not matched:
        raise malformed(
            path,
            "",
            "no annotation is about an image of the dialogs",
            "Pass the annotations of the same version and split.",
        )
    return relevance


def _is_relevance(value):
    return type(value) in (int, float) and 0 <= value <= 1
