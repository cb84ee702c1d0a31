"""Loaders of VisDial's files: dialogs and dense annotations."""

import itertools
import math
import os
from array import array
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from tfcap._io import malformed
from tfcap._io import read_json
from tfcap._io.file_limits import check_unpacked
from tfcap._io.file_limits import raise_limit
from tfcap.data.entry_problems import warn_of_fewer
from tfcap.data.entry_problems import warn_of_splits
from tfcap.data.image_names import image_key
from tfcap.data.visdial_split import VisDialSplit

#: How an array holds 0 and 1.
_BITS = [array("i", [bit]).tobytes() for bit in (0, 1)]
#: What dialogs are told apart by; an empty text where there is no tag.
USUAL_TAGS = ("train", "val", "")
_FIX = "Correct the file, or get it again from https://visualdialog.org/data."
_FETCH = "Get the file again from https://visualdialog.org/data."


def load_visdial(
    path: str | os.PathLike,
    dense_annotations: str | os.PathLike | None = None,
    tag: str = "suggested_split",
) -> VisDialSplit:
    """Reads a VisDial file, version 0.9 or 1.0, any split.

    Every index is checked, so that a damaged file is found here rather than
    hours into a training. Keys that are not known are skipped. In a test
    file (`"split": "test"`) options and the last answer may be missing;
    elsewhere only `gt_index` may be: it is then found among the options.

    Args:
        path: String or path of a `visdial_*.json`, gzipped or not.
        dense_annotations: String or path, optional, of the file with the
            relevance of each option (`visdial_1.0_*_dense_*.json`).
        tag: String, key of a text that a dialog may carry, kept in the
            split's `tags`. Defaults to `"suggested_split"`.

    Returns:
        A `VisDialSplit`.

    Raises:
        ValueError: If a file is cut off or malformed; names the file, the
            dialog, and what to do.
    """
    return _Reader(path).read(dense_annotations, tag)


class _Reader:
    """Holds what the checks need to name the culprit."""

    def __init__(self, path):
        self.path = path
        content = read_json(path, object_hook=_compact)
        data = self.field(content, "data", dict, "the file")
        self.dialogs = self.field(data, "dialogs", list, "`data`")
        self.questions = self.texts(data, "questions")
        self.answers = self.texts(data, "answers")
        self.hidden = "test" in str(content.get("split", ""))
        self.check_dialogs()
        self.turns = [t for d in self.dialogs for t in d["dialog"]]
        counts = [len(dialog["dialog"]) for dialog in self.dialogs]
        self.shape = len(counts), max(counts, default=0)
        self.check_padded(counts)
        self.dialog_of = np.repeat(np.arange(len(counts)), counts)
        starts = np.cumsum([0, *counts])[:-1]
        self.round_of = np.arange(len(self.turns)) - starts[self.dialog_of]

    def read(self, dense_annotations, tag):
        question = self.index("question", len(self.questions))
        answer = self.index("answer", len(self.answers), self.may_lack)
        options = self.read_options()
        gt = self.read_truth(answer, options)
        image_ids = np.array(
            [dialog["image_id"] for dialog in self.dialogs], np.int64
        )
        self.check_distinct(image_ids)
        if not self.hidden:
            rounds = np.bincount(self.dialog_of, minlength=len(self.dialogs))
            names = [f"dialog {i} (image {x})" for i, x in enumerate(image_ids)]
            counts = rounds.tolist()
            warn_of_fewer(self.path, names, counts, "rounds", "dialogs")
        options = self.scatter(options, options.shape[1:])
        relevance = None
        if dense_annotations is not None:
            relevance = load_relevance(
                dense_annotations, image_ids, options >= 0
            )
        tags = np.array([str(d.get(tag, "")) for d in self.dialogs])
        warn_of_splits(self.path, Counter(tags.tolist()), USUAL_TAGS)
        return VisDialSplit(
            image_ids=image_ids,
            captions=[dialog["caption"] for dialog in self.dialogs],
            questions=self.questions,
            answers=self.answers,
            question_index=self.scatter(question),
            answer_index=self.scatter(answer),
            options=options,
            gt_index=self.scatter(gt),
            relevance=relevance,
            tags=tags,
            source=str(self.path),
        )

    def field(self, record, key, kind, where):
        value = record.get(key) if isinstance(record, dict) else None
        if isinstance(value, kind) and not isinstance(value, bool):
            return value
        found = "is missing" if value is None else f"is {value!r:.60}"
        raise malformed(self.path, where, f"`{key}` {found}", _FETCH)

    def texts(self, data, key):
        texts = self.field(data, key, list, "`data`")
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise malformed(
                    self.path, f"`data.{key}`", f"entry {i} is no text", _FIX
                )
        return texts

    def check_dialogs(self):
        # NumPy and the files hold image ids in 64 bits.
        kinds = {"image_id": int, "caption": str, "dialog": list}
        for i, dialog in enumerate(self.dialogs):
            where = f"dialog {i}"
            if isinstance(dialog, dict) and "image_id" in dialog:
                dialog["image_id"] = image_key(dialog["image_id"])
            for key, kind in kinds.items():
                value = self.field(dialog, key, kind, where)
                if kind is int and not -(2**63) <= value < 2**63:
                    problem = f"`{key}` is {value!r:.60}, too large"
                    raise malformed(self.path, where, problem, _FIX)
                where = f"dialog {i} (image {dialog['image_id']})"
            for r, turn in enumerate(dialog["dialog"]):
                if not isinstance(turn, dict):
                    where = f"{where}, round {r + 1}"
                    raise malformed(self.path, where, "is no object", _FIX)

    def check_distinct(self, image_ids):
        distinct, first = np.unique(image_ids, return_index=True)
        if len(distinct) < len(image_ids):
            again = np.setdiff1d(np.arange(len(image_ids)), first)[0]
            raise malformed(
                self.path,
                f"dialog {again} (image {image_ids[again]})",
                "the image has a second dialog",
                "Keep one dialog for each image: image ids are their names.",
            )

    def may_lack(self, turn):
        """Check whether a round may lack an answer: a test dialog's last."""
        last = len(self.dialogs[self.dialog_of[turn]]["dialog"]) - 1
        return self.hidden and self.round_of[turn] == last

    def index(self, key, size, may_lack=lambda turn: False):
        """Flat array of one index per round, -1 where it may be missing."""
        values = [turn.get(key) for turn in self.turns]
        for i, value in enumerate(values):
            if value is None and may_lack(i):
                values[i] = -1
            elif type(value) is not int or not 0 <= value < size:
                raise self.at(i, key, value, size)
        return np.array(values, np.int32)

    def read_options(self):
        """Flat array `(rounds, N)` of the options of each round."""
        values = [turn.get("answer_options") for turn in self.turns]
        size = max((len(v) for v in values if isinstance(v, array)), default=0)
        whole = [isinstance(v, array) and len(v) == size for v in values]
        for i in np.flatnonzero(~np.array(whole, bool)):
            if values[i] is not None or not self.hidden:
                raise self.at(i, "answer_options", values[i], size, "answers")
        table = np.full((len(values), size), -1, np.int32)
        packed = b"".join(itertools.compress(values, whole))
        table[whole] = np.frombuffer(packed, np.intc).reshape(sum(whole), size)
        present = np.array([value is not None for value in values], bool)
        bad = (table < 0) | (table >= len(self.answers))
        rows, columns = np.nonzero(bad & present[:, None])
        if rows.size:
            i, wrong = rows[0], table[rows[0], columns[0]]
            key = f"answer_options[{columns[0]}]"
            raise self.at(i, key, int(wrong), len(self.answers))
        return table

    def read_truth(self, answer, options):
        """Flat array of the human answer's index among the options."""
        rows, size = np.arange(len(self.turns)), options.shape[1]
        listed = np.any(options >= 0, axis=-1)
        known = (answer >= 0) & listed
        found = options == answer[:, None]
        gt = np.full(len(rows), -1, np.int32)
        gt[known] = np.argmax(found[known], -1) if known.any() else -1
        for i, turn in enumerate(self.turns):
            if "gt_index" in turn:
                value = turn["gt_index"]
                if type(value) is not int or not 0 <= value < size:
                    raise self.at(i, "gt_index", value, size)
                # Without its options, a round has nothing to rank.
                gt[i] = value if listed[i] else -1
            elif known[i] and not found[i].any():
                problem = "no option is the answer"
                raise malformed(self.path, self.where(i), problem, _FIX)
        chosen = np.where(known, options[rows, gt], -1) if size else answer
        for i in np.flatnonzero(known & (chosen != answer)):
            if self.answers[chosen[i]] != self.answers[answer[i]]:
                problem = f"`gt_index` {gt[i]} is not where the answer is"
                raise malformed(self.path, self.where(i), problem, _FIX)
        return gt

    def check_padded(self, counts):
        """Refuses a dialog so long that tables for all would not fit."""
        shown = [turn.get("answer_options") for turn in self.turns]
        sizes = [len(x) for x in shown if hasattr(x, "__len__")]
        row = 4 * (3 + max(sizes, default=0))
        try:
            check_unpacked(row * len(self.turns), row * math.prod(self.shape))
        except ValueError as error:
            longest = int(np.argmax(counts))
            image = self.dialogs[longest]["image_id"]
            where = f"dialog {longest} (image {image})"
            problem = (
                f"there are {counts[longest]:,} rounds, for which all dialogs "
                f"would be padded ({error})"
            )
            hint = f"{_FIX} {raise_limit('TFCAP_MAX_BYTES')}"
            raise malformed(self.path, where, problem, hint) from error

    def scatter(self, flat, inner=()):
        table = np.full((*self.shape, *inner), -1, np.int32)
        table[self.dialog_of, self.round_of] = flat
        return table

    def where(self, turn):
        dialog = self.dialog_of[turn]
        image = self.dialogs[dialog]["image_id"]
        return (
            f"dialog {dialog} (image {image}), round {self.round_of[turn] + 1}"
        )

    def at(self, turn, key, value, size, unit=""):
        if value is None:
            problem = f"`{key}` is missing"
        elif unit:
            problem = f"`{key}` are not {size} integers"
        else:
            problem = f"`{key}` is {value!r:.60}, not in 0..{size - 1}"
        return malformed(self.path, self.where(turn), problem, _FIX)


def _compact(record):
    """Packs a round's options while parsing: a tenth of the memory."""
    options = record.get("answer_options")
    if type(options) is list:
        try:
            packed = array("i", options)
        except (TypeError, OverflowError):
            return record  # the reader refuses it and says where
        # An array makes numbers of `true` and `false`. Few options are 0 or 1.
        content = packed.tobytes()
        bits = _BITS[0] in content or _BITS[1] in content
        if not (bits and bool in map(type, options)):
            record["answer_options"] = packed
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
        expected = int(present[row, round_id - 1].sum())
        if len(values) != expected:
            problem = f"there are {len(values)} relevances, not {expected}"
            raise malformed(path, where, problem, _FETCH)
        if not all(map(_is_relevance, values)):
            problem = "a relevance is no number from 0 to 1"
            raise malformed(path, where, problem, _FETCH)
        if not np.isnan(relevance[row, round_id - 1]).all():
            problem = "the round is annotated again"
            raise malformed(path, where, problem, "Keep one annotation of it.")
        relevance[row, round_id - 1, :expected] = values
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
    image = image_key(entry.get("image_id"))
    round_id = entry.get("round_id")
    expected = [
        ("image_id", image, int),
        ("round_id", round_id, int),
        ("gt_relevance", values, list),
    ]
    for key, value, kind in expected:
        if type(value) is not kind:
            where, problem = f"annotation {i}", f"`{key}` is missing or wrong"
            raise malformed(path, where, problem, _FETCH)
    return image, round_id, values
