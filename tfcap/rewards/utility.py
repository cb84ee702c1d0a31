"""Rewards by questions that a caption answers."""

import collections
import itertools
import zlib
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import numpy as np

from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_seed
from tfcap.rewards.text_rewards import TextReward


class Answer(NamedTuple):
    """Response to a question of a reader of a caption.

    Attributes:
        question: `tfcap.data.Question`.
        chosen: String, the likeliest option.
        probability: Float, of the right option given the caption.
        without: Float, the same given an empty caption.
        rank: Float, of the right option among all, 1 is best; options with
            equal scores share their mean rank.
    """

    question: Any
    chosen: str
    probability: float
    without: float
    rank: float


class Utility(TextReward):
    """Gain of a caption for a reader who answers questions about the image.

    ```
    p(option | caption) = softmax over options of reader(caption, question)
    reward(caption) = mean over the image's questions of
                      log p(answer | caption) - log p(answer | empty caption)
    ```

    The reader sees no image. What it knows without a caption, such as a prior
    of answers or a preference for short options or the first one, counts for
    no caption: options are shuffled in every call, and the empty caption is
    read with the same order.

    The logarithm is a proper scoring rule: a claim pays if it is true about as
    often as the reader believes captions. By the probability itself every guess
    pays that is better than the prior, and speakers learn to guess.

    Args:
        questions: Sequence over images of sequences of
            `tfcap.data.Question`.
        reader: Callable `(captions, questions, options)`: lists of n strings, n
            strings and n lists of strings. Returns n sequences of numbers, log
            probabilities of the options but for a constant; such as
            `tfcap.rewards.LikelihoodReader`.
        rows: String, the entry of the batch with each row's index in
            `questions`, integers of shape `(B,)`. Defaults to `"row"`, which
            `tfcap.data.CaptionBatches` has.
        limit: Integer, questions of an image that are asked in a call, drawn
            without replacement. Defaults to `None`, all of them.
        log: Boolean, whether log probabilities are compared, or probabilities.
            Defaults to `True`.
        subtract_empty: Boolean, whether to subtract what the reader answers
            without a caption. Defaults to `True`.
        seed: Integer. Draws depend on it and on the captions of the call
            alone. Defaults to `0`.
        vocabulary: As of `TextReward`.

    Raises:
        ValueError: If the answer to a question is none of its options, or
            there are fewer than two; in training, if the reader returns another
            number of scores, or one that is not a number.

    Example:

    >>> def reader(captions, questions, options):
    ...     return [
    ...         [3.0 * (option in caption) for option in each]
    ...         for caption, each in zip(captions, options)
    ...     ]
    >>> color = tfcap.data.Question("Which color?", ("red", "blue"), 0)
    >>> utility = tfcap.rewards.Utility([[color]], reader)
    >>> for answer in utility.answers(["a red bus", "a blue bus"], [0, 0]):
    ...     print(answer[0].chosen, round(answer[0].probability, 2))
    red 0.95
    blue 0.05
    >>> utility.scores(["a red bus"], [0])["utility_accuracy"]
    1.0

    Reference:

    - Xing et al., CapRL: Stimulating Dense Image Caption Capabilities via
      Reinforcement Learning, 2025: the share of questions that a language
      model answers from the caption alone. It subtracts nothing.
    """

    def __init__(
        self,
        questions: Sequence[Sequence[Any]],
        reader: Callable,
        rows: str = "row",
        limit: int | None = None,
        log: bool = True,
        subtract_empty: bool = True,
        seed: int = 0,
        vocabulary: Any = None,
    ):
        super().__init__(self._gains, vocabulary, name="utility")
        self.columns = self.needed = (rows,)
        for question in itertools.chain.from_iterable(questions):
            count = len(question.options)
            if count < 2 or question.answer not in range(count):
                raise ValueError(
                    "`questions` must have at least two options, and the index "
                    f"of the right one. Received: {question!r:.300}."
                )
        self.questions = questions
        self.reader = reader
        self.rows = rows
        self.limit = None if limit is None else checked_integer(limit, "limit")
        self.log = log
        self.subtract_empty = subtract_empty
        self.seed = checked_seed(seed) or 0

    def _gains(self, completions, **columns):
        """Rewards of captions; equal ones of an image are read once."""
        pairs = [*zip(completions, map(int, columns[self.rows]))]
        once = [*dict.fromkeys(pairs)]
        gains = dict(zip(once, self._read(once).gains(self.log)))
        return [float(gains[pair]) for pair in pairs]

    def answers(
        self, captions: Sequence[str], rows: Sequence[int]
    ) -> list[list[Answer]]:
        """Answers the questions of images from captions.

        Args:
            captions: n strings.
            rows: n integers, each caption's row in `questions`.

        Returns:
            A list for each caption, of an `Answer` to each question that it is
            asked. Without `subtract_empty`, `without` is NaN.
        """
        read = self._read([*zip(captions, map(int, rows))])
        without = np.full(len(read.questions), np.nan)
        if self.subtract_empty:
            without = np.exp(read.right(read.without))
        answers = map(
            Answer,
            read.questions,
            [
                question.options[int(np.nanargmax(each))]
                for question, each in zip(read.questions, read.log_probs)
            ],
            np.exp(read.right(read.log_probs)).tolist(),
            without.tolist(),
            read.ranks(read.log_probs).tolist(),
        )
        return [[*itertools.islice(answers, count)] for count in read.counts]

    def scores(
        self, captions: Sequence[str], rows: Sequence[int]
    ) -> dict[str, float]:
        """Scores captions, for the logs of an evaluation.

        Args:
            captions: n strings.
            rows: n integers, each caption's row in `questions`.

        Returns:
            Dict of floats: `utility`, the mean reward; `utility_accuracy`, the
            share of questions whose likeliest option is right;
            `utility_mean_rank`, of the right option; with `subtract_empty`
            `utility_without`, the accuracy given an empty caption; and of each
            kind of question `utility_accuracy_<kind>`.
        """
        read = self._read([*zip(captions, map(int, rows))])
        ranks = read.ranks(read.log_probs)
        kinds = collections.defaultdict(list)
        for question, rank in zip(read.questions, ranks):
            kinds[question.kind].append(rank == 1)
        means = {
            "utility": read.gains(self.log),
            "utility_accuracy": ranks == 1,
            "utility_mean_rank": ranks,
        }
        if self.subtract_empty:
            means["utility_without"] = read.ranks(read.without) == 1
        for kind in sorted({*kinds} - {""}):
            means[f"utility_accuracy_{kind}"] = kinds[kind]
        return {name: float(np.mean(values)) for name, values in means.items()}

    def _read(self, pairs):
        """Asks the reader about pairs of a caption and a row."""
        content = zlib.crc32(repr(pairs).encode())
        rng = np.random.default_rng([self.seed, content])
        drawn, orders = {}, {}
        for _, row in pairs:
            if row not in drawn:
                drawn[row] = self._drawn(row, rng)
                for number in drawn[row]:
                    options = self.questions[row][number].options
                    orders[row, number] = rng.permutation(len(options))
        asked = [
            (caption, row, number)
            for caption, row in pairs
            for number in drawn[row]
        ]
        empty = [("", *key[1:]) for key in asked] if self.subtract_empty else []
        places = {key: i for i, key in enumerate(dict.fromkeys(empty + asked))}
        scores = self._log_probs([*places], orders)
        found, without = (
            scores[np.array([places[key] for key in keys], int)]
            for keys in (asked, empty)
        )
        return Reading(
            [self.questions[row][number] for _, row, number in asked],
            np.array([len(drawn[row]) for _, row in pairs]),
            found,
            without if self.subtract_empty else None,
        )

    def _drawn(self, row, rng):
        """Numbers of the questions that are asked about an image."""
        total = len(self.questions[row])
        if self.limit is None or total <= self.limit:
            return range(total)
        drawn = rng.choice(total, self.limit, replace=False)
        return sorted(drawn.tolist())

    def _log_probs(self, keys, orders):
        """Log probabilities `(n, A)` of options, NaN where there is none."""
        questions = [self.questions[row][number] for _, row, number in keys]
        orders = [orders[row, number] for _, row, number in keys]
        longest = max(map(len, orders), default=0)
        log_probs = np.full((len(keys), longest), np.nan)
        if not keys:
            return log_probs
        scores = self.reader(
            [caption for caption, *_ in keys],
            [question.text for question in questions],
            [
                [question.options[i] for i in order]
                for question, order in zip(questions, orders)
            ],
        )
        if [np.shape(x) for x in scores] == [np.shape(x) for x in orders]:
            for own, order, each in zip(log_probs, orders, scores):
                own[order] = each
        there = ~np.isnan(log_probs)
        best = np.max(
            log_probs, axis=-1, keepdims=True, initial=-np.inf, where=there
        )
        counts = [len(order) for order in orders]
        if not np.isfinite(best).all() or (there.sum(-1) != counts).any():
            raise ValueError(
                "`reader` must return a number for every option of every "
                f"question. Received: {self.reader!r}, which returned "
                f"{scores!r:.200} for {len(keys)} questions."
            )
        log_probs -= best
        total = np.nansum(np.exp(log_probs), axis=-1, keepdims=True)
        return log_probs - np.log(total)


class Reading(NamedTuple):
    """A reader's answers to all questions about some captions.

    Attributes:
        questions: List of n questions, caption after caption.
        counts: Integer array, the questions that each caption is asked.
        log_probs: Float array `(n, A)`, of the options in their order, NaN
            where a question has fewer.
        without: The same given an empty caption, or None if it is not read.
    """

    questions: list
    counts: Any
    log_probs: Any
    without: Any

    def right(self, log_probs):
        """Log probabilities `(n,)` of the right options."""
        answers = np.array([q.answer for q in self.questions], int)
        return np.take_along_axis(log_probs, answers[:, None], axis=1)[:, 0]

    def gains(self, log):
        """Mean gain of each caption, 0 where nothing is asked."""
        scale = (lambda x: x) if log else np.exp
        gains = scale(self.right(self.log_probs))
        if self.without is not None:
            gains = gains - scale(self.right(self.without))
        rows = np.repeat(np.arange(len(self.counts)), self.counts)
        sums = np.bincount(rows, gains, minlength=len(self.counts))
        return sums / np.maximum(self.counts, 1)

    def ranks(self, log_probs):
        """Ranks `(n,)` of the right options; equal ones share their mean."""
        right = self.right(log_probs)[:, None]
        equal = np.sum(log_probs == right, axis=-1)
        return np.sum(log_probs > right, axis=-1) + (equal + 1) / 2
