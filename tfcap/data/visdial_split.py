"""The dialogs of one VisDial file, as arrays."""

import dataclasses
import functools
import itertools
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from tfcap._printed import printed
from tfcap.data.questions import Question
from tfcap.text import word_tokenize


def question_tokens(text):
    """Words of a question, ending in the `?` that annotators often left out.

    Args:
        text: String.

    Returns:
        List of strings.

    Example:

    >>> from tfcap.data.visdial_split import question_tokens
    >>> question_tokens("Is it red")
    ['is', 'it', 'red', '?']
    """
    tokens = word_tokenize(text)
    return tokens if tokens[-1:] == ["?"] else [*tokens, "?"]


@dataclasses.dataclass(frozen=True, eq=False)
class VisDialSplit:
    """Dialogs about images, with the answer options of each question.

    Each text is kept once, in one of three lists; dialogs refer to it by index.
    The index of an absent text (rounds of a short dialog, hidden answers of
    the test split) is -1. M is the number of dialogs, R of rounds, N of
    options (10 and 100 in the published files).

    Attributes:
        image_ids: Integer array of shape `(M,)`.
        captions: List of M strings.
        questions: List of the distinct questions.
        answers: List of the distinct answers, including the options.
        question_index: Integer array of shape `(M, R)`, into `questions`.
        answer_index: Integer array of shape `(M, R)`, into `answers`.
        options: Integer array of shape `(M, R, N)`, into `answers`.
        gt_index: Integer array of shape `(M, R)`, which option is the human
            answer.
        relevance: Float array of shape `(M, R, N)` with the dense
            annotations, NaN where there are none; or None.
        tags: String array of shape `(M,)`, a note on each dialog, such as a
            proposed split; empty where there is none.
        source: String, the file that the dialogs were read from.

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, and https://visualdialog.org/data
    """

    __repr__ = printed

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
        """Selects the dialogs at some rows, with all lists of texts.

        Args:
            rows: Integer array of row numbers, or Boolean array of shape
                `(M,)`, such as `split.tags == "train"`.

        Returns:
            A `VisDialSplit`.
        """
        rows = np.arange(len(self))[rows]
        part = rows
        if len(rows) and (np.diff(rows) == 1).all():
            # Consecutive rows need no copy of the options, 500 MB.
            part = slice(rows[0], rows[-1] + 1)
        arrays = {
            field.name: getattr(self, field.name)[part]
            for field in dataclasses.fields(self)
            if isinstance(getattr(self, field.name), np.ndarray)
        }
        captions = [self.captions[row] for row in rows]
        return dataclasses.replace(self, captions=captions, **arrays)

    def multiple_choice(self) -> list[list[Question]]:
        """Questions with their options, for `tfcap.rewards.Utility`.

        Returns:
            List of M lists of `tfcap.data.Question`, without those whose answer
            is hidden. Equal options are one. The kind is the question's first
            word, of "what" and "how" the first two.
        """
        return [
            [
                self._question(*texts)
                for texts in zip(self.question_index[i], self.options[i], right)
                if texts[-1] >= 0
            ]
            for i, right in enumerate(self.gt_index)
        ]

    def _question(self, question, options, right):
        text = self.questions[question]
        options = [self.answers[i] for i in options[options >= 0]]
        once = tuple(dict.fromkeys(options))
        words = word_tokenize(text)
        kind = words[: 2 if words[:1] in (["what"], ["how"]) else 1]
        answer = once.index(options[right])
        return Question(text, once, answer, "_".join(kind))

    def word_counts(self) -> Counter:
        """Counts how often each word occurs.

        Captions count once each, questions and answers as often as they
        occur; other options do not count.
        """
        captions, questions, answers = self.words
        counts = Counter(itertools.chain.from_iterable(captions))
        for texts, index in [
            (questions, self.question_index),
            (answers, self.answer_index),
        ]:
            uses = np.bincount(index[index >= 0], minlength=len(texts))
            for i in np.flatnonzero(uses):
                for word in texts[i]:
                    counts[word] += int(uses[i])
        return counts
