"""The dialogs of one VisDial file, as arrays."""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

from tfcap.text import word_tokenize


def question_tokens(text):
    """Words of a question, ending in the `?` that annotators often left out.

    Args:
        text: String.

    Returns:
        List of strings.

    Example:

    >>> tfcap.data.question_tokens("Is it red")
    ['is', 'it', 'red', '?']
    """
    tokens = word_tokenize(text)
    return tokens if tokens[-1:] == ["?"] else [*tokens, "?"]


@dataclasses.dataclass(frozen=True, eq=False)
class VisDialSplit:
    """Dialogs about images, with the answers that each question may choose.

    Texts are kept once, in three lists; dialogs refer to them by index, and
    what is absent (the rounds of a short dialog, the hidden answers of the
    test split) has index -1. M is the number of dialogs, R of rounds, N of
    options (10 and 100 in the published files).

    Attributes:
        image_ids: Integer array of shape `(M,)`.
        captions: List of M strings.
        questions: List of the distinct questions.
        answers: List of the distinct answers, which the options are part of.
        question_index: Integer array of shape `(M, R)`, into `questions`.
        answer_index: Integer array of shape `(M, R)`, into `answers`.
        options: Integer array of shape `(M, R, N)`, into `answers`.
        gt_index: Integer array of shape `(M, R)`, which option is the human
            answer.
        relevance: Float array of shape `(M, R, N)` with the dense
            annotations, NaN where there are none; or None.
        tags: String array of shape `(M,)`, a note that a file may carry for
            each dialog (such as a proposed split), empty where it has none.
        source: String, the file that the dialogs were read from.

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, and https://visualdialog.org/data
    """

    image_ids: np.ndarray
    captions: list
    questions: list
    answers: list
    question_index: np.ndarray
    answer_index: np.ndarray
    options: np.ndarray
    gt_index: np.ndarray
    relevance: np.ndarray | None = None
    tags: np.ndarray | None = None
    source: str = ""

    def __len__(self):
        return len(self.image_ids)

    @functools.cached_property
    def words(self):
        """Words of all captions, questions and answers, tokenized once.

        Three lists of lists of strings, as long as the lists of texts.
        """
        return tuple(
            list(map(tokenize, texts))
            for texts, tokenize in [
                (self.captions, word_tokenize),
                (self.questions, question_tokens),
                (self.answers, word_tokenize),
            ]
        )

    def select(self, rows: NDArray) -> "VisDialSplit":
        """The dialogs at some rows; the lists of texts stay whole.

        Args:
            rows: Integer array of row numbers, or Boolean array of shape
                `(M,)`, such as `split.tags == "train"`.

        Returns:
            A `VisDialSplit`.
        """
        rows = np.asarray(rows)
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        rows = rows.astype(np.int64)
        first = int(rows[0]) if len(rows) else 0
        neighbors = first >= 0 and np.array_equal(
            rows, np.arange(first, first + len(rows))
        )
        if neighbors and len(rows) == len(self):
            return self
        # The options of neighbors, 500 MB, need no copy.
        part = slice(first, first + len(rows)) if neighbors else rows
        optional = {
            name: None if value is None else value[part]
            for name, value in [
                ("relevance", self.relevance),
                ("tags", self.tags),
            ]
        }
        return dataclasses.replace(
            self,
            image_ids=self.image_ids[part],
            captions=[self.captions[row] for row in rows],
            question_index=self.question_index[part],
            answer_index=self.answer_index[part],
            options=self.options[part],
            gt_index=self.gt_index[part],
            **optional,
        )


def paper_split(split: VisDialSplit, validation: int = 1000):
    """Sets the last dialogs of the v0.9 training file apart for validation.

    Best of Both Worlds trains on 82 thousand dialogs, validates on one
    thousand of the same file, and tests on the 40 thousand of the published
    validation file.

    Args:
        split: `VisDialSplit` read from `visdial_0.9_train.json`.
        validation: Integer, number of dialogs to set apart. Defaults to 1000.

    Returns:
        Two `VisDialSplit`: train and validation.

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4. The paper does not
      say which thousand; here it is the last of the file.
    """
    if not 0 < validation < len(split):
        raise ValueError(
            "`validation` must leave dialogs on both sides. Received: "
            f"validation={validation} of {len(split)} dialogs. Choose fewer."
        )
    rows = np.arange(len(split))
    return split.select(rows[:-validation]), split.select(rows[-validation:])
