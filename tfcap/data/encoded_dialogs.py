"""Dialogs as tables of word ids."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from tfcap._printed import printed
from tfcap.text import Vocabulary
from tfcap.text import as_vocabulary
from tfcap.text import word_tokenize

#: Entries of dialogs besides their texts.
_OF_DIALOGS = (
    *("image_ids", "question_index", "answer_index"),
    *("options", "gt_index", "relevance"),
)


@dataclasses.dataclass(frozen=True, eq=False)
class EncodedDialogs:
    """A `VisDialSplit` in word ids: one table per kind of text.

    Rows are padded on the right with 0, to the longest row of a table; with
    the published data tables have the full widths, 24, 16 and 8 + 1. M is the
    number of dialogs, R of rounds, N of options.

    Attributes:
        image_ids: Integer array of shape `(M,)`.
        captions: Integer array of shape `(M, Tc)`.
        questions: Integer array `(number of questions, Tq)`.
        answers: Integer array `(number of answers, Ta)`, each ending in EOS.
        question_index, answer_index, gt_index: Integer arrays of shape
            `(M, R)`, -1 where absent.
        options: Integer array of shape `(M, R, N)` into `answers`, -1 where
            absent.
        relevance: Float array of shape `(M, R, N)` or None.
        vocabulary: The `tfcap.text.Vocabulary` of the ids.
        history_length: Integer, width of `history()`, Th.
    """

    __repr__ = printed

    image_ids: np.ndarray
    captions: np.ndarray
    questions: np.ndarray
    answers: np.ndarray
    question_index: np.ndarray
    answer_index: np.ndarray
    options: np.ndarray
    gt_index: np.ndarray
    relevance: np.ndarray | None
    vocabulary: Vocabulary
    history_length: int

    @classmethod
    def from_split(
        cls,
        split,
        vocabulary: Vocabulary,
        caption_length: int = 24,
        question_length: int = 16,
        answer_length: int = 8,
        tables=None,
    ) -> "EncodedDialogs":
        """Encodes the texts of a split.

        Args:
            split: `VisDialSplit`.
            vocabulary: `tfcap.text.Vocabulary`.
            caption_length: Integer, maximum number of words of a caption.
            question_length: Integer, maximum number of words of a question.
            answer_length: Integer, maximum number of words of an answer,
                without EOS.
            tables: Pair of arrays, the `questions` and `answers` of another
                split with the same lists of texts and lengths. Defaults to
                `None`.

        Returns:
            An `EncodedDialogs`. The defaults are the paper's.

        Raises:
            ValueError: If ids are pieces of words, or padding is not 0.
        """
        vocabulary = as_vocabulary(vocabulary)
        if not vocabulary.is_words or vocabulary.pad != 0:
            raise ValueError(
                "`vocabulary` must have whole words and padding 0. "
                f"Received: vocabulary={vocabulary!r}, padded with "
                f"{vocabulary.pad}. Build one by "
                "`tfcap.data.build_vocabulary()`."
            )
        if tables:
            words = map(word_tokenize, split.captions)
            captions = _table(vocabulary, words, caption_length)
            questions, answers = tables
        else:
            captions, questions, answers = split.words
            captions = _table(vocabulary, captions, caption_length)
            questions = _table(vocabulary, questions, question_length)
            answers = _table(vocabulary, answers, answer_length, True)
        lengths = _lengths(questions, split.question_index)
        lengths += _lengths(answers, split.answer_index, eos=True)
        return cls(
            captions=captions,
            questions=questions,
            answers=answers,
            **{name: getattr(split, name) for name in _OF_DIALOGS},
            vocabulary=vocabulary,
            history_length=max(
                captions.shape[1], int(lengths[:, :-1].max(initial=0))
            ),
        )

    def __len__(self):
        return len(self.image_ids)

    def select(self, rows: NDArray) -> "EncodedDialogs":
        """Selects the dialogs at some rows, with all tables of texts.

        Args:
            rows: Integer array of row numbers.

        Returns:
            An `EncodedDialogs`.
        """
        rows = np.asarray(rows, np.int64)
        arrays = {n: getattr(self, n) for n in (*_OF_DIALOGS, "captions")}
        kept = {n: x[rows] for n, x in arrays.items() if x is not None}
        return dataclasses.replace(self, **kept)

    @property
    def rounds(self):
        """Number of rounds of a dialog, R."""
        return self.question_index.shape[1]

    def question(self, rows):
        """Returns questions of dialogs: rows `(B,)` to ids `(B, R, Tq)`."""
        return _gather(self.questions, self.question_index[rows])

    def answer(self, rows):
        """Returns human answers of dialogs: rows `(B,)` to `(B, R, Ta)`."""
        return _gather(self.answers, self.answer_index[rows])

    def history(self, rows: NDArray) -> NDArray:
        """Returns the history before each question of some dialogs.

        Args:
            rows: Integer array of shape `(B,)`.

        Returns:
            Integer array of shape `(B, R, Th)`. Row 0 is the caption, row r
            is question r-1 followed by the words of answer r-1; an absent
            round has an empty history.
        """
        rows = np.asarray(rows)
        history = np.zeros((len(rows), self.rounds, self.history_length), "i4")
        captions = self.captions[rows]
        history[:, 0, : captions.shape[1]] = captions
        history[:, 1:] = self._said(rows)
        history[self.question_index[rows] < 0] = 0
        return history

    def _said(self, rows):
        """Question and answer of all rounds but the last: `(B, R-1, Th)`."""
        question = self.question(rows)[:, :-1]
        answer = self.answer(rows)[:, :-1]
        answer = np.where(answer == self.vocabulary.eos, 0, answer)
        length = np.count_nonzero(question, axis=-1)[..., None]
        both = np.concatenate([question, answer], axis=-1)
        steps = np.arange(self.history_length)
        # Past the question's last word, skip its padding.
        skip = np.where(steps < length, 0, question.shape[-1] - length)
        source = steps + skip
        inside = source < both.shape[-1]
        source = np.minimum(source, both.shape[-1] - 1)
        return np.where(inside, np.take_along_axis(both, source, -1), 0)


def _table(vocabulary, sentences, max_length, eos=False):
    sentences = list(sentences)
    longest = max(map(len, sentences), default=0)
    return vocabulary.encode_batch(sentences, min(max_length, longest), eos)


def _gather(table, index):
    return table[index] * (index >= 0)[..., None].astype(table.dtype)


def _lengths(table, index, eos=False):
    lengths = np.count_nonzero(table, axis=-1) - eos
    return np.where(index < 0, 0, lengths[index])
