"""A hundred candidate answers to each question, by VisDial's protocol."""

import dataclasses

import numpy as np

from reproduce.world.judging import meaning_array
from reproduce.world.judging import relevance
from reproduce.world.judging import truth_array
from reproduce.world.words import HEDGES
from reproduce.world.words import NO_FORMS
from reproduce.world.words import YES_FORMS

# Candidates of a question, those from similar questions, and popular ones.
# VisDial takes 50 similar ones, from a far more open world; here 20 leave as
# many on topic.
_TOTAL, _SIMILAR, _POPULAR = 100, 20, 30
# Rows that are filled at a time: bounds the working memory to ~60 MB.
_CHUNK = 4000
_WORD_SIZE = 24
_NEIGHBORS = 48
_FORMS = [form for form, *_ in YES_FORMS + NO_FORMS] + list(HEDGES)


@dataclasses.dataclass(frozen=True)
class Options:
    """Candidates of M dialogs, R rounds each, N per round.

    Args:
        answers: List of strings, what `indices` point into.
        indices: Int32 array `(M, R, N)`, distinct within a round.
        gt_index: Int32 array `(M, R)`, where in `indices` the truth is.
        relevance: Float32 array `(M, R, N)` in `[0, 1]`, see `judge()`.
    """

    answers: list[str]
    indices: np.ndarray
    gt_index: np.ndarray
    relevance: np.ndarray


def build_options(
    dialogs: list, rng: np.random.Generator, corpus: list | None = None
) -> Options:
    """Draws the candidates of every question and grades them.

    The truth, answers that were given to the nearest questions, the popular
    answers, and random ones, shuffled; all from the train corpus, as in
    VisDial. The nearest questions are those with the most similar first three
    words and remaining words, the same question left out, so that most of
    their answers are about something else.

    Args:
        corpus: List of dialogs to train on. Defaults to `dialogs`.
    """
    pool = _Pool(dialogs if corpus is None else corpus, rng)
    rounds = [r for dialog in dialogs for r in dialog.rounds]
    # All answers, the corpus' first, and the number of each round's own.
    numbers = dict(pool.numbers)
    truth = [numbers.setdefault(r.answer, len(numbers)) for r in rounds]
    truth, answers = np.array(truth, np.int64), list(numbers)
    nearest = pool.nearest([r.question for r in rounds])
    meanings = meaning_array(answers)
    truths = truth_array([r.truth for r in rounds])
    indices = np.empty((len(rounds), _TOTAL), np.int32)
    gt_index = np.empty(len(rounds), np.int32)
    grades = np.empty((len(rounds), _TOTAL), np.float32)
    for start in range(0, len(rounds), _CHUNK):
        part = slice(start, start + _CHUNK)
        picked, where = pool.draw(truth[part], nearest[part])
        grade = relevance(meanings[picked], truths[part, None])
        grade[np.arange(len(where)), where] = 1.0
        indices[part], gt_index[part], grades[part] = picked, where, grade
    shape = (len(dialogs), -1)
    return Options(
        answers,
        indices.reshape(*shape, _TOTAL),
        gt_index.reshape(shape),
        grades.reshape(*shape, _TOTAL),
    )


class _Pool:
    """Questions and answers of the corpus, ready to be drawn from."""

    def __init__(self, corpus, rng):
        rounds = [r for dialog in corpus for r in dialog.rounds]
        self.numbers, questions = {}, {}
        given, asked = (
            [table.setdefault(text, len(table)) for text in texts]
            for table, texts in (
                (self.numbers, [r.answer for r in rounds]),
                (questions, [r.question for r in rounds]),
            )
        )
        # So that even a corpus of a few dialogs fills the lists.
        for form in _FORMS:
            self.numbers.setdefault(form, len(self.numbers))
        self.questions = list(questions)
        # Answers grouped by question: those of q start at `starts[q]`.
        self.given = np.array(given)[np.argsort(asked, kind="stable")]
        self.counts = np.bincount(asked, minlength=len(questions))
        self.starts = np.cumsum(self.counts) - self.counts
        frequency = np.bincount(given, minlength=len(self.numbers))
        self.popular = np.argsort(-frequency, kind="stable")
        self.rng = rng
        self.word_vectors = {}
        self.vectors = self._embed(self.questions)

    def nearest(self, questions):
        """Corpus questions most like each of `questions`, itself left out."""
        numbers = {q: i for i, q in enumerate(dict.fromkeys(questions))}
        known = {q: i for i, q in enumerate(self.questions)}
        width, near = min(_NEIGHBORS, len(known) - 1), []
        for start in range(0, len(numbers), 512):
            part = list(numbers)[start : start + 512]
            likeness = self._embed(part) @ self.vectors.T
            for i, question in enumerate(part):
                if question in known:
                    likeness[i, known[question]] = -np.inf
            best = np.argpartition(-likeness, width - 1, axis=1)[:, :width]
            order = np.argsort(-np.take_along_axis(likeness, best, 1), axis=1)
            best = np.take_along_axis(best, order, 1)
            near.append(np.resize(best.T, (_NEIGHBORS, len(part))).T)
        return np.concatenate(near)[[numbers[q] for q in questions]]

    def draw(self, truth, nearest):
        """Candidates `(n, N)` and the index of the truth in each row."""
        rows, rng = len(truth), self.rng
        # One answer to each near question in turn, nearest first.
        offset = rng.random((rows, nearest.shape[1])) * self.counts[nearest]
        near = self.given[self.starts[nearest] + offset.astype(np.int64)]
        first = _is_first(np.concatenate([truth[:, None], near], axis=1))[:, 1:]
        near[~first | (first.cumsum(1) > _SIMILAR)] = -1
        head = np.broadcast_to(self.popular[:_POPULAR], (rows, _POPULAR))
        spare = rng.integers(len(self.numbers), size=(rows, 2 * _TOTAL))
        # Whatever else fails, frequency order has as many distinct answers.
        tail = self.popular[_POPULAR : _POPULAR + _TOTAL]
        tail = np.broadcast_to(tail, (rows, len(tail)))
        drawn = np.concatenate([truth[:, None], near, head, spare, tail], 1)
        keep = _is_first(drawn) & (drawn >= 0)
        keep &= keep.cumsum(1) <= _TOTAL
        picked = drawn[keep].reshape(rows, _TOTAL)
        shuffle = np.argsort(rng.random((rows, _TOTAL)), axis=1)
        where = np.argmax(shuffle == 0, axis=1)
        return np.take_along_axis(picked, shuffle, 1), where

    def _embed(self, questions):
        """Unit vectors: the first three words, and the mean of the rest."""
        vectors = np.zeros((len(questions), 4, _WORD_SIZE), np.float32)
        for i, question in enumerate(questions):
            words = [self._word(w) for w in question.split()]
            for j, word in enumerate(words[:3]):
                vectors[i, j] = word
            if len(words) > 3:
                vectors[i, 3] = np.mean(words[3:], axis=0)
        vectors = vectors.reshape(len(questions), -1)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def _word(self, word):
        if word not in self.word_vectors:
            self.word_vectors[word] = self.rng.standard_normal(
                _WORD_SIZE, np.float32
            )
        return self.word_vectors[word]


def _is_first(rows):
    """Mask of the entries that do not occur earlier in their row."""
    order = np.argsort(rows, axis=1, kind="stable")
    ranked = np.take_along_axis(rows, order, 1)
    first = np.empty(rows.shape, bool)
    new = np.diff(ranked, axis=1, prepend=-2) != 0
    np.put_along_axis(first, order, new, axis=1)
    return first
