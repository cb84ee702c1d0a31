"""Base class of the rewards that compare with human captions."""

import numpy as np
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import compiled
from tfcap._ops import is_end
from tfcap._ops import reference_mask
from tfcap._ops import without_start
from tfcap._ops import words_only
from tfcap._ops.arguments import batch_entry
from tfcap.rewards.host_words import HostWords
from tfcap.rewards.reward import Reward
from tfcap.text import as_vocabulary


class ReferenceReward(Reward):
    """Scores captions by how they resemble those that people wrote.

    The references are part of the batch, `inputs["references"]`, integers of
    shape `(B, N, T)`: N captions of each image, ended by the end token and
    padded with the speaker's `pad`, of any length of their own; a row of
    padding is no caption, where images have unlike numbers of them. An image
    without any gives 0. A start token that they begin with, the speaker's
    `bos`, is left out.

    Where the ids of the speaker's vocabulary are pieces of words, captions and
    references are decoded on the host, and their words are compared.

    To write one, override `score()`, a function of tensors alone.

    Args:
        name: String, under which it is logged.
        count_eos: Boolean, whether the end token counts as a word, the same
            one where a speaker has several. Defaults to `True`: else captions
            that stop too late or in the middle of a phrase lose nothing. A
            caption of no words then still shares it with every reference,
            which BLEU-1 and ROUGE-L pay for a little.
        references: String, the key of the references. Defaults to
            `"references"`.
        jit_compile: Boolean, whether to compile the score with XLA, on
            TensorFlow, where it then costs a fraction; the rest of the step
            is left as it is. Defaults to `True`. Every new shape of captions
            or references is compiled once: pad them to fixed lengths.
        vocabulary: Vocabulary or tokenizer of the ids, which tells whether
            they are words, see `tfcap.text.as_vocabulary()`. Defaults to the
            attribute `vocabulary` of the speaker; without one, ids are words.
    """

    #: Words that have ids of their own, where strings are compared.
    words = None

    def __init__(
        self,
        name,
        count_eos=True,
        references="references",
        jit_compile=True,
        vocabulary=None,
    ):
        self.name = name
        self.count_eos = count_eos
        self.references = references
        self.jit_compile = jit_compile
        self.vocabulary = vocabulary
        if vocabulary is not None:
            self.vocabulary = as_vocabulary(vocabulary)
        self._score = compiled(self.score) if jit_compile else self.score
        self._readers = {}

    def call(self, rollout, episode):
        eos = episode.speaker.eos
        human = human_captions(episode, self.references, self.name)
        check_shape(rollout.tokens, "B S T", "rollout.tokens")
        words = words_only(rollout.tokens, rollout.mask)
        pad = getattr(episode.speaker, "pad", 0)
        references = words_only(human, reference_mask(human, eos, pad))
        present = ops.cast(ops.greater_equal(references[..., 0], 0), "float32")
        reader = self.reader(episode)
        if reader is not None:
            words, references = reader(words, references, eos)
        else:
            words = with_one_end(words, eos, self.count_eos)
            references = with_one_end(references, eos, self.count_eos)
        return self._score(words, references, present, *self.tensors())

    def reader(self, episode):
        """`HostWords` where ids are no words to the score, else `None`."""
        vocabulary = self.known_vocabulary(episode)
        if vocabulary is None or (
            self.words is None and getattr(vocabulary, "is_words", True)
        ):
            return None
        source = getattr(vocabulary, "tokenizer", vocabulary)
        if id(source) not in self._readers:
            words = () if self.words is None else self.words
            reader = HostWords(vocabulary, words, self.count_eos)
            self._readers[id(source)] = reader
        return self._readers[id(source)]

    def known_vocabulary(self, episode):
        """The vocabulary of the ids; `None` where nobody names one."""
        if self.vocabulary is not None:
            return self.vocabulary
        found = getattr(episode.speaker, "vocabulary", None)
        return None if found is None else as_vocabulary(found)

    def tensors(self):
        """Further arguments of `score()`: constants such as a table."""
        return ()

    def score(self, words, references, present, *tensors):
        """Scores captions.

        Args:
            words: Int32 tensor of shape `(B, S, T)`, -1 where no word counts.
            references: Int32 tensor of shape `(B, N, U)`, as `words`.
            present: Float32 tensor of shape `(B, N)`, 0 where there is no
                caption.
            *tensors: What `tensors()` returned.

        Returns:
            Float32 tensor of shape `(B, S)`.
        """
        raise NotImplementedError


def with_one_end(words, eos, counted):
    """Words whose ends are all the first of `eos`, or no word.

    Args:
        words: Integer tensor, -1 for no word.
        eos: Integer or tuple of integers, the end tokens.
        counted: Boolean, whether the end counts as a word.

    Returns:
        Tensor like `words`.
    """
    end = int(np.ravel(eos)[0]) if counted else -1
    return ops.where(is_end(words, eos), end, words)


def human_captions(episode, key: str, reward: str):
    """The references of a batch.

    Returns:
        Integer tensor of shape `(B, N, T)`.
    """
    found = batch_entry(
        episode.inputs,
        key,
        "the human captions of every image, integers of shape (B, N, T), for "
        f"the reward {reward!r}",
        "Add them to the batches, or name their key in the reward's "
        "`references`, which a function of strings has as "
        "`tfcap.rewards.TextReward(function, references=...)`.",
        pad=getattr(episode.speaker, "pad", 0),
    )
    check_shape(found, "B N T", key)
    return without_start(found, episode.speaker)


def mean_over_references(values, present):
    """Mean over the captions that are there; 0 where there are none.

    Args:
        values: Float tensor of shape `(B, S, N)`.
        present: Float tensor of shape `(B, N)`.

    Returns:
        Float tensor of shape `(B, S)`.
    """
    total = ops.sum(values * present[:, None], axis=-1)
    return total / ops.maximum(ops.sum(present, axis=-1), 1.0)[:, None]
