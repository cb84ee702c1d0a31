"""A trained generator to talk with about an image."""

import numpy as np
import tensorflow as tf

from tfcap.decoding import Greedy
from tfcap.text import word_tokenize


class DialogPartner:
    """Answers one question after another about one image.

    Keeps the history itself: every question is read with the caption and the
    exchanges so far. When the dialog has become longer than those that the
    generator was trained on, the oldest exchange is forgotten, never the
    caption.

    Args:
        vocabulary: `tfcap.text.Vocabulary` that it was trained with.
        features: Float array of shape `(P, D)`, of the image.
        caption: String, or word ids of the vocabulary, padded with 0.
        rounds: Integer `R`, rounds of the dialogs that it was trained on.
            Defaults to `10`.
        caption_length, question_length, answer_length: Integers, words of
            each that are read. Default to `24`, `16` and `8`.

    Attributes:
        unknown: List of the words of the last question that the vocabulary
            does not have.

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017: a dialog agent for a real
      user has no candidate answers to choose from
    """

    def __init__(
        self,
        generator,
        vocabulary,
        features,
        caption,
        rounds=10,
        caption_length=24,
        question_length=16,
        answer_length=8,
    ):
        features = np.asarray(features, "float32")
        if features.ndim != 2:
            raise ValueError(
                "`features` must have shape (P, D), those of one image. "
                f"Received: features.shape={features.shape}."
            )
        if rounds < 1:
            raise ValueError(
                f"`rounds` must be at least 1. Received: rounds={rounds}."
            )
        self.generator = generator
        self.vocabulary = vocabulary
        self.features = features
        self.rounds = rounds
        self.caption_length = caption_length
        self.question_length = question_length
        self.answer_length = answer_length
        self.unknown = []
        if isinstance(caption, str):
            caption = vocabulary.encode(word_tokenize(caption))
        caption = [int(word) for word in caption if word]
        self._caption = caption[:caption_length]
        self._exchanges = []
        decoder = Greedy(max_length=answer_length + 1)

        def answer(inputs):
            state = generator.begin(inputs)
            return decoder.decode(generator, state).tokens[:, 0]

        self._answer = tf.function(answer, autograph=False)

    def ask(self, question: str) -> str:
        """Answers a question, and remembers both."""
        words = word_tokenize(question)
        words = words if words[-1:] == ["?"] else [*words, "?"]
        self.unknown = [
            word
            for word in dict.fromkeys(words)
            if word not in self.vocabulary and word != "?"
        ]
        question = self.vocabulary.encode(words, self.question_length)
        # The exchanges that still fit, the caption and the question beside.
        first = max(0, len(self._exchanges) - self.rounds + 1)
        exchanges = self._exchanges[first:]
        tokens = self._answer(self._inputs(exchanges, question))
        tokens = tokens[len(exchanges)].numpy().tolist()
        answer = [
            word for word in tokens if word not in (0, self.generator.eos)
        ]
        self._exchanges.append((question, answer[: self.answer_length]))
        return self.vocabulary.decode(tokens)

    def _inputs(self, exchanges, question):
        """A batch of one dialog; the rounds to come are absent."""
        questions = [*(asked for asked, _ in exchanges), question]
        history = [
            self._caption,
            *(asked + answer for asked, answer in exchanges),
        ]
        width = max(
            self.caption_length, self.question_length + self.answer_length
        )
        return {
            "image": self.features[None],
            "question": self._table(questions, self.question_length),
            "history": self._table(history, width),
        }

    def _table(self, rows, width):
        table = np.zeros((1, self.rounds, width), "int32")
        for index, words in enumerate(rows):
            table[0, index, : len(words)] = words
        return table


def partner_of(
    experiment, index: int, row: str = "hciae_g_dis"
) -> DialogPartner:
    """A partner who sees an image of an experiment's test split."""
    test, features = experiment.data.test, experiment.data.test_features
    rows = np.array([index])
    image = features(rows) if callable(features) else features[rows]
    return DialogPartner(
        experiment.networks(row)["generator"],
        test.vocabulary,
        image[0],
        test.captions[index],
        rounds=test.rounds,
    )
