"""Rewards by questions that a caption answers."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_seed
from tfcap._printed import printed
from tfcap.rewards.text_rewards import TextReward
from tfcap.text import as_vocabulary


class Question(NamedTuple):
    """A question about an image, with one right answer among several.

    Attributes:
        text: String.
        options: Tuple of strings.
        answer: Integer, the index of the right one.
        kind: String, for scores by kind of question, optional.
    """

    text: str
    options: tuple[str, ...]
    answer: int
    kind: str = ""


class Answer(NamedTuple):
    """Response to a question of a reader of a caption.

    Attributes:
        question: `Question`.
        chosen: String, the likeliest option.
        probability: Float, of the right option given the caption.
        without: Float, the same given an empty caption.
        rank: Float, of the right option among all, 1 is best; options with
            equal scores share their mean rank.
    """

    question: Question
    chosen: str
    probability: float
    without: float
    rank: float


class Utility(TextReward):
    """Gain of a caption for a reader who answers questions about the image.

    ```
    p(option | caption) = softmax over options of reader(caption, question)
    reward(caption) = mean over the image's questions of
                      p(answer | caption) - p(answer | empty caption)
    ```

    The reader sees no image. What it knows without a caption, such as a prior
    of answers or a preference for short options, counts for no caption. A
    reader may prefer options by their place: they are shuffled for every call.

    Args:
        questions: Sequence over images of sequences of `Question`.
        reader: Callable `(captions, questions, options)`: lists of n strings, n
            strings and n lists of strings. Returns n sequences of numbers, log
            probabilities of the options but for a constant; such as
            `tfcap.rewards.LikelihoodReader`.
        rows: String, the entry of the batch with each row's index in
            `questions`, integers of shape `(B,)`. Defaults to `"row"`.
        limit: Integer, questions of an image that a caption is asked, drawn
            anew for every call. Defaults to `None`, all of them.
        subtract_empty: Boolean, whether to subtract what the reader answers
            without a caption. Defaults to `True`.
        seed: Integer, of the draws. Defaults to `None`.
        vocabulary: As of `TextReward`.

    Raises:
        ValueError: If a question has fewer than two options or its answer is
            none of them; in training, if the reader returns another number of
            scores, or one that is not a number.

    Example:

    >>> def reader(captions, questions, options):
    ...     return [
    ...         [3.0 * (option in caption) for option in each]
    ...         for caption, each in zip(captions, options)
    ...     ]
    >>> color = tfcap.rewards.Question("Which color?", ("red", "blue"), 0)
    >>> utility = tfcap.rewards.Utility([[color]], reader)
    >>> for answer in utility.answers(["a red bus", "a blue bus"], [0, 0]):
    ...     print(answer[0].chosen, round(answer[0].probability, 2))
    red 0.95
    blue 0.05

    Reference:

    - Xing et al., CapRL: Stimulating Dense Image Caption Capabilities via
      Reinforcement Learning, 2025: the share of questions that a language
      model answers from the caption alone. It does not subtract what the model
      answers without one.
    """

    def __init__(
        self,
        questions: Sequence[Sequence[Question]],
        reader: Callable,
        rows: str = "row",
        limit: int | None = None,
        subtract_empty: bool = True,
        seed: int | None = None,
        vocabulary: Any = None,
    ):
        super().__init__(self._gains, vocabulary, name="utility")
        self.columns = self.needed = (rows,)
        for asked in questions:
            for question in asked:
                _check_question(question)
        self.questions = questions
        self.reader = reader
        self.rows = rows
        self.limit = None if limit is None else checked_integer(limit, "limit")
        self.subtract_empty = subtract_empty
        self._rng = np.random.default_rng(checked_seed(seed))
        self._empty = {}

    def _gains(self, completions, **columns):
        """Rewards of captions; equal ones of an image are read once."""
        pairs = [*zip(completions, map(int, columns[self.rows]))]
        once = [*dict.fromkeys(pairs)]
        found = self.answers(*map(list, zip(*once)))
        gains = {
            pair: np.mean([x.probability - x.without for x in answers])
            if answers
            else 0.0
            for pair, answers in zip(once, found)
        }
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
            asked. Without `subtract_empty`, `without` is 0.
        """
        asked = [self._drawn(row) for row in rows]
        flat = [
            (caption, row, number)
            for caption, row, numbers in zip(captions, rows, asked)
            for number in numbers
        ]
        empty = [("", row, n) for row, n in {x[1:] for x in flat}]
        empty = [x for x in sorted(empty) if x not in self._empty]
        empty = empty if self.subtract_empty else []
        scores = iter(self._read([*empty, *flat]))
        for key in empty:
            self._empty[key] = self._answer(key, next(scores)).probability
        found = [self._answer(key, next(scores)) for key in flat]
        ends = np.cumsum([len(numbers) for numbers in asked])
        return [
            found[end - len(numbers) : end] for end, numbers in zip(ends, asked)
        ]

    def _drawn(self, row):
        """Numbers of the questions that a caption of an image is asked."""
        total = len(self.questions[row])
        if self.limit is None or total <= self.limit:
            return range(total)
        drawn = self._rng.choice(total, self.limit, replace=False)
        return sorted(drawn.tolist())

    def _read(self, keys):
        """The reader's scores of options, in the order of the question."""
        if not keys:
            return []
        asked = [self.questions[row][number] for _, row, number in keys]
        orders = [self._rng.permutation(len(q.options)) for q in asked]
        scores = self.reader(
            [caption for caption, *_ in keys],
            [question.text for question in asked],
            [[q.options[i] for i in order] for q, order in zip(asked, orders)],
        )
        scores = [np.asarray(x, "float64") for x in scores]
        shapes = [(len(order),) for order in orders]
        if [x.shape for x in scores] != shapes or np.isnan(
            np.concatenate([*scores, [0.0]])
        ).any():
            raise ValueError(
                "`reader` must return a number for every option of every "
                f"question. Received: {self.reader!r}, which returned "
                f"{scores!r:.200} for {shapes!r:.200}."
            )
        return [x[np.argsort(order)] for x, order in zip(scores, orders)]

    def _answer(self, key, scores):
        _, row, number = key
        question = self.questions[row][number]
        right = scores[question.answer]
        shares = np.exp(scores - scores.max())
        equal = np.sum(scores == right)
        return Answer(
            question,
            question.options[int(scores.argmax())],
            float(shares[question.answer] / shares.sum()),
            self._empty.get(("", row, number), 0.0),
            float(np.sum(scores > right) + (equal + 1) / 2),
        )


def _check_question(question):
    count = len(question.options)
    if count < 2 or question.answer not in range(count):
        raise ValueError(
            "`questions` must have at least two options, and the index of the "
            f"right one. Received: {question!r:.300}."
        )


class LikelihoodReader:
    """A language model that ranks options by their likelihood.

    ```
    score(option) = mean over its pieces of
                    log p(piece | prompt with caption and question, before it)
    ```

    Args:
        speaker: `tfcap.models.CausalLMSpeaker` with a tokenizer and without
            images, which is not trained.
        prompt: String with `{caption}` and `{question}`, what comes before an
            option.
        batch_size: Integer, prompts that are read at once. Defaults to `16`.

    Call arguments:
        captions, questions, options: As of `tfcap.rewards.Utility`.

    Returns:
        List of n float arrays.

    Example:

    ```python
    lm = keras_hub.models.CausalLM.from_preset("gemma3_instruct_1b")
    reader = tfcap.rewards.LikelihoodReader(tfcap.models.CausalLMSpeaker(lm))
    reader(["a red bus"], ["Which color is it?"], [["red", "blue"]])
    ```
    """

    __repr__ = printed

    def __init__(
        self,
        speaker: Any,
        prompt: str = "{caption}\nQuestion: {question}\nAnswer: ",
        batch_size: int = 16,
    ):
        self.speaker = speaker
        self.prompt = prompt
        self.batch_size = checked_integer(batch_size, "batch_size")
        self._vocabulary = as_vocabulary(speaker.tokenizer)
        self._scores = OptionScores(speaker)

    def __call__(self, captions, questions, options):
        prompts = [
            self.prompt.format(caption=caption, question=question)
            for caption, question in zip(captions, questions)
        ]
        start = [self.speaker.bos] if self.speaker.has_start else []
        prompts, _ = self._ids(prompts, start)
        flat, lengths = self._ids(sum(map(list, options), []), eos=True)
        counts = np.array([len(each) for each in options])
        there = np.arange(counts.max()) < counts[:, None]
        shape = *there.shape, flat.shape[-1]
        inputs = {
            "prompt": prompts,
            "options": np.full(shape, self.speaker.pad, "int32"),
            "lengths": np.ones(there.shape, "float32"),
        }
        inputs["options"][there] = flat
        inputs["lengths"][there] = lengths
        found, size = [], self.batch_size
        for first in range(0, len(prompts), size):
            part = {k: x[first : first + size] for k, x in inputs.items()}
            # Always as many rows: other shapes are compiled anew.
            more = [(0, size - len(part["prompt"]))]
            part = {
                k: np.pad(x, more + [(0, 0)] * (x.ndim - 1), "edge")
                for k, x in part.items()
            }
            found.extend(np.asarray(self._scores.predict_on_batch(part)))
        return [scores[:count] for scores, count in zip(found, counts)]

    def _ids(self, texts, start=(), eos=False):
        """Ids `(n, T)` of texts, T a multiple of 8, and their lengths."""
        ids, splits = self._vocabulary.encode_ragged(texts, eos=eos)
        lengths = np.diff(splits)
        width = -(-lengths.max() // 8) * 8
        padded = np.full((len(texts), width), self.speaker.pad, "int32")
        padded[np.arange(width) < lengths[:, None]] = ids
        first = np.tile(np.array(start, "int32"), (len(texts), 1))
        return np.concatenate([first, padded], axis=1), lengths


class OptionScores(keras.Model):
    """Mean log probabilities `(B, S)` of options after a prompt."""

    def __init__(self, speaker):
        super().__init__()
        self.speaker = speaker

    def call(self, inputs):
        state = self.speaker.begin({"prompt": inputs["prompt"]})
        log_probs = self.speaker.log_probs(state, inputs["options"])
        return ops.sum(log_probs, axis=-1) / inputs["lengths"]
