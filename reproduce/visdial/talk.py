"""A dialog of a person with a trained generator about an image."""

import dataclasses

import numpy as np

from tfcap.data import DialogBatches
from tfcap.decoding import Greedy
from tfcap.text import word_tokenize

#: Words of a question that are read, as in training.
_LENGTH = 16


class Talk:
    """Answers one question after another about an image of the test split.

    Every question is read with the caption and the exchanges so far, as in
    training. When the dialog has become longer than those that the generator
    was trained on, the oldest exchange is forgotten, never the caption.

    Args:
        experiment: `DialogExperiment`.
        index: Integer, number of a test dialog, whose caption and image it is.
        row: String, row of the generator. Defaults to `"hciae_g_dis"`.

    Attributes:
        unknown: List of the words of the last question that the vocabulary
            does not have.
    """

    def __init__(self, experiment, index: int, row: str = "hciae_g_dis"):
        test, features = experiment.data.test, experiment.data.test_features
        rows = np.array([index])
        self._dialogs, self._rounds = test.select(rows), test.rounds
        self._image = features(rows) if callable(features) else features[rows]
        self._generator = experiment.networks(row)["generator"]
        self._decoder = Greedy(test.answers.shape[1])
        self._questions, self._answers = [], []
        self.unknown = []

    def ask(self, question: str) -> str:
        """Answers a question, and remembers both."""
        dialogs, words = self._dialogs, word_tokenize(question)
        vocabulary = dialogs.vocabulary
        self.unknown = [
            word for word in dict.fromkeys(words) if word not in vocabulary
        ]
        self._questions.append([*words, *["?"] * (words[-1:] != ["?"])])
        last = len(self._answers)
        index = np.arange(max(0, last + 1 - self._rounds), last + 1)[None]
        dialogs = dataclasses.replace(
            dialogs,
            questions=vocabulary.encode_batch(self._questions, _LENGTH),
            question_index=index,
            # The one to come is no answer yet.
            answers=np.array([*self._answers, dialogs.answers[0]]),
            answer_index=np.where(index < last, index, -1),
            history_length=max(
                dialogs.history_length, _LENGTH + dialogs.answers.shape[1]
            ),
        )
        inputs = DialogBatches(dialogs, self._image, 1).inputs(np.arange(1))
        state = self._generator.begin(inputs)
        tokens = self._decoder.decode(self._generator, state).tokens
        self._answers.append(np.asarray(tokens)[-1, 0])
        return vocabulary.decode(self._answers[-1])
