"""Verifiable rewards: truth of captions on the embedded world."""

from collections.abc import Callable

from keras import ops

from reproduce.comparisons.truth.reader_network import QUESTIONS
from reproduce.comparisons.truth.reader_network import Answers
from reproduce.world.questions import TEXTS
from reproduce.world.questions import said
from reproduce.world.truth import Truth
from tfcap.rewards import Reward
from tfcap.rewards import TextReward
from tfcap.text import caption_tokenize

#: Places of questions in what `ReaderNetwork` returns, and their options.
PLACES = {TEXTS[key]: i for i, key in enumerate(QUESTIONS) if key in TEXTS}
OPTIONS = {
    TEXTS[key]: [*map(said, options)]
    for key, options in QUESTIONS.items()
    if key in TEXTS
}


def truth_function(measure: str, truth: Truth) -> Callable:
    """A measure of truth with the signature of TRL's reward functions.

    Args:
        measure: String, one of `reproduce.world.truth.MEASURES`.
        truth: `Truth` of all images.

    Returns:
        Function `(completions, row)` of n strings and the n numbers of their
        images that returns n floats in `[0, 1]`.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> from reproduce.world.truth import Truth
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> precision = truth_function("precision", Truth([Scene("sand", (ball,))]))
    >>> precision(["a red ball", "a blue ball"], row=[0, 0])
    [1.0, 0.5]
    """

    def score(completions, row):
        return [
            float(truth.score(measure, caption, int(image)))
            for caption, image in zip(completions, row, strict=True)
        ]

    score.__name__ = measure
    return score


def truth_reward(measure: str, truth: Truth, vocabulary) -> TextReward:
    """A measure of truth as a reward; batches have `row`."""
    return TextReward(truth_function(measure, truth), vocabulary)


class LearnedReader:
    """A network as a reader of `tfcap.rewards.Utility`.

    Args:
        network: `ReaderNetwork`.
        vocabulary: `tfcap.text.Vocabulary`, that of the network.
    """

    def __init__(self, network, vocabulary):
        self.network = network
        self.vocabulary = vocabulary

    def __call__(self, captions, questions, options):
        places = {text: i for i, text in enumerate(dict.fromkeys(captions))}
        words = [*map(caption_tokenize, places)]
        ids = self.vocabulary.encode_batch(words, eos=True)
        logits = self.network.predict({"caption": ids[:, None]}, verbose=0)
        return [
            logits[places[caption], 0, PLACES[question]][
                [OPTIONS[question].index(option) for option in each]
            ]
            for caption, question, each in zip(captions, questions, options)
        ]


class LearnedUtility(Reward):
    """Questions that a network answers correctly from the caption alone.

    ```
    reward = mean over kinds of questions of mean over questions of
             p(true answer | caption)
    ```

    Gradients reach the words, where a channel passes them.

    Args:
        network: `ReaderNetwork`, frozen.
        answers: `Answers` of all images.
    """

    differentiable = True
    name = "learned_utility"

    def __init__(self, network, answers: Answers):
        self.network = network
        self.answers = answers

    def call(self, rollout, episode):
        said = rollout.tokens if rollout.words is None else rollout.words
        row = episode.inputs["row"]
        truth = ops.take(self.answers.numbers, row, axis=0)[:, None]
        weights = ops.take(self.answers.weights, row, axis=0)[:, None]
        read = self.network({"caption": said, "mask": rollout.mask})
        probabilities = ops.softmax(read)
        picked = ops.sum(
            probabilities
            * ops.one_hot(truth, probabilities.shape[-1], dtype="float32"),
            axis=-1,
        )
        # (B, S, Q); questions that do not apply have weight 0.
        return ops.sum(picked * weights, axis=-1)
