"""Readers of captions that answer questions, for `Utility`."""

import itertools
from typing import Any

import keras
import numpy as np
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap._printed import printed
from tfcap.text import as_vocabulary
from tfcap.text import word_tokenize

#: Lengths of texts are multiples, so that few shapes are compiled.
_WIDTH = 8


class OptionReader:
    """A speaker that ranks options by their likelihood.

    ```
    score(option) = mean over its words of
                    log p(word | caption and question, words before it)
    ```

    Caption and question are read once for all options. A subclass defines
    `inputs(captions, questions)`, a dict of arrays that the speaker begins
    from, and `encode(texts)`, `encode_options(texts)`, which return ids as
    `tfcap.text.Vocabulary.encode_ragged()`.
    """

    __repr__ = printed

    def __init__(self, speaker, batch_size):
        self.batch_size = checked_integer(batch_size, "batch_size")
        self._pad = speaker.pad
        self._scores = OptionScores(speaker)

    def __call__(self, captions, questions, options):
        texts = [*itertools.chain.from_iterable(options)]
        flat, lengths = self.rows(texts, self.encode_options)
        counts = np.array([len(each) for each in options])
        there = np.arange(counts.max()) < counts[:, None]
        words = np.full((*there.shape, flat.shape[1]), self._pad, "int32")
        words[there] = flat
        sizes = np.ones(there.shape, "float32")
        sizes[there] = lengths
        inputs = self.inputs(captions, questions)
        inputs |= {"options": words, "lengths": sizes}
        found = np.empty(there.shape)
        # Questions whose options are as long are read at once.
        widths = -(-sizes.max(axis=1).astype(int) // _WIDTH) * _WIDTH
        for width in np.unique(widths):
            rows = np.flatnonzero(widths == width)
            for first in range(0, len(rows), self.batch_size):
                some = rows[first : first + self.batch_size]
                found[some] = self._read(inputs, some, width)
        return [scores[:count] for scores, count in zip(found, counts)]

    def _read(self, inputs, rows, width):
        """Scores of the options of some questions, up to a number of words."""
        # Always as many rows: other shapes are compiled anew.
        padded = np.resize(rows, self.batch_size)
        batch = {name: values[padded] for name, values in inputs.items()}
        batch["options"] = batch["options"][..., :width]
        scores = self._scores.predict_on_batch(batch)
        return np.asarray(scores)[: len(rows)]

    def rows(self, texts, encode=None):
        """Ids `(n, T)` of texts, T a multiple of `_WIDTH`, and lengths."""
        ids, splits = (encode or self.encode)(texts)
        lengths = np.diff(splits)
        width = -(-max(lengths.max(), 1) // _WIDTH) * _WIDTH
        rows = np.full((len(lengths), width), self._pad, "int32")
        rows[np.arange(width) < lengths[:, None]] = ids
        return rows, lengths


class LikelihoodReader(OptionReader):
    """A language model that ranks options by what they gain from a caption.

    ```
    likelihood(option, caption) = mean over its pieces of
                                  log p(piece | prompt, pieces before it)
    score(option) = likelihood(option, caption) - likelihood(option, "")
    ```

    where a prompt has the caption and the question. The difference is the
    pointwise mutual information of option and caption: the likelihood alone
    ranks frequent and short options first, whatever the caption says.

    Args:
        speaker: `tfcap.models.CausalLMSpeaker` with a tokenizer and without
            images, which is not trained.
        prompt: String with `{caption}` and `{question}`, what comes before an
            option and the space in front of it.
        mutual_information: Boolean, whether to subtract the likelihood after an
            empty caption. Defaults to `True`.
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

    Reference:

    - Holtzman et al., Surface Form Competition: Why the Highest Probability
      Answer Isn't Always Right, EMNLP 2021, who subtract the likelihood after
      "Answer:" from a sum over pieces
    """

    def __init__(
        self,
        speaker: Any,
        prompt: str = "{caption}\nQuestion: {question}\nAnswer:",
        mutual_information: bool = True,
        batch_size: int = 16,
    ):
        super().__init__(speaker, batch_size)
        self.speaker = speaker
        self.prompt = prompt
        self.mutual_information = mutual_information
        self.encode = as_vocabulary(speaker.tokenizer).encode_ragged

    def __call__(self, captions, questions, options):
        asked = [*zip(captions, questions, map(tuple, options))]
        empty = [("", *key[1:]) for key in asked]
        if not self.mutual_information:
            empty = []
        once = [*dict.fromkeys(asked + empty)]
        scores = dict(zip(once, super().__call__(*map(list, zip(*once)))))
        found = [scores[key] for key in asked]
        if empty:
            found = [x - scores[key] for x, key in zip(found, empty)]
        return found

    def inputs(self, captions, questions):
        prompts, _ = self.rows(
            [
                self.prompt.format(caption=caption, question=question)
                for caption, question in zip(captions, questions)
            ]
        )
        if self.speaker.has_start:
            first = np.full_like(prompts[:, :1], self.speaker.bos)
            prompts = np.concatenate([first, prompts], axis=1)
        return {"prompt": prompts}

    def encode_options(self, texts):
        # A word is another piece at the beginning of a line.
        return self.encode([f" {text}" for text in texts])


class DialogReader(OptionReader):
    """A visual dialog model that ranks answers by their likelihood.

    ```
    score(option) = mean over its words of
                    log p(word | question, caption as history, before it)
    ```

    It sees no image: train it on dialogs with images of zeros.

    Args:
        generator: `tfcap.models.DialogGenerator`, built; it is not trained.
        vocabulary: `tfcap.text.Vocabulary` of words.
        image_shape: Pair of integers `(P, D)`, of an image of zeros.
        batch_size: Integer, questions that are read at once. Defaults to `64`.

    Call arguments:
        captions, questions, options: As of `tfcap.rewards.Utility`.

    Returns:
        List of n float arrays.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary("a red bus what is it ?".split())
    >>> encoder = tfcap.layers.LateFusionEncoder(
    ...     8, output_units=6, return_state=True
    ... )
    >>> generator = tfcap.models.DialogGenerator(
    ...     vocabulary.size, encoder, embedding_units=6
    ... )
    >>> names = "question", "history", "answer"
    >>> batch = {name: np.array([[[4, 2]]]) for name in names}
    >>> _ = generator({**batch, "image": np.zeros((1, 1, 3))})  # builds it
    >>> reader = tfcap.rewards.DialogReader(generator, vocabulary, (1, 3))
    >>> found = reader(["a red bus"], ["What is it?"], [["a bus", "red"]])
    >>> len(found[0])
    2
    """

    def __init__(
        self,
        generator: Any,
        vocabulary: Any,
        image_shape: tuple[int, int],
        batch_size: int = 64,
    ):
        super().__init__(generator, batch_size)
        self.generator = generator
        self.vocabulary = vocabulary
        self.image_shape = image_shape

    def inputs(self, captions, questions):
        return {
            # Dialogs of one round: (n, 1, T).
            "history": self.rows(captions)[0][:, None],
            "question": self.rows(map(_asked, questions))[0][:, None],
            "image": np.zeros((len(captions), *self.image_shape), "float32"),
        }

    def encode(self, texts, eos=False):
        words = [*map(word_tokenize, texts)]
        return self.vocabulary.encode_ragged(words, eos=eos)

    def encode_options(self, texts):
        return self.encode(texts, eos=True)


def _asked(question):
    """A question that ends in the mark that its writer may have left out."""
    return question if question.rstrip().endswith("?") else f"{question} ?"


class OptionScores(keras.Model):
    """Mean log probabilities `(B, S)` of options after what a speaker reads."""

    def __init__(self, speaker):
        super().__init__()
        self.speaker = speaker

    def call(self, inputs):
        state = self.speaker.begin(inputs)
        log_probs = self.speaker.log_probs(state, inputs["options"])
        return ops.sum(log_probs, axis=-1) / inputs["lengths"]
