"""Readers of captions that answer questions, for `Utility`."""

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
    from, and `encode(texts, eos)`, which returns ids as
    `tfcap.text.Vocabulary.encode_ragged()`.
    """

    __repr__ = printed

    def __init__(self, speaker, batch_size):
        self.batch_size = checked_integer(batch_size, "batch_size")
        self._pad = speaker.pad
        self._scores = OptionScores(speaker)

    def __call__(self, captions, questions, options):
        flat, lengths = self.rows(sum(map(list, options), []), eos=True)
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

    def rows(self, texts, eos=False):
        """Ids `(n, T)` of texts, T a multiple of `_WIDTH`, and lengths."""
        ids, splits = self.encode(texts, eos=eos)
        lengths = np.diff(splits)
        width = -(-max(lengths.max(), 1) // _WIDTH) * _WIDTH
        rows = np.full((len(lengths), width), self._pad, "int32")
        rows[np.arange(width) < lengths[:, None]] = ids
        return rows, lengths


class LikelihoodReader(OptionReader):
    """A language model that ranks options by their likelihood.

    ```
    score(option) = mean over its pieces of
                    log p(piece | prompt with caption and question, before it)
    ```

    A prompt is read once for all options.

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

    def __init__(
        self,
        speaker: Any,
        prompt: str = "{caption}\nQuestion: {question}\nAnswer: ",
        batch_size: int = 16,
    ):
        super().__init__(speaker, batch_size)
        self.speaker = speaker
        self.prompt = prompt
        self.encode = as_vocabulary(speaker.tokenizer).encode_ragged

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

    def encode(self, texts, eos):
        words = [*map(word_tokenize, texts)]
        return self.vocabulary.encode_ragged(words, eos=eos)


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
