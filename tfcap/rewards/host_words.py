"""Words of captions whose ids are pieces of words."""

import collections
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops
from numpy.typing import NDArray

from tfcap._ops import call_on_host
from tfcap.text import Vocabulary
from tfcap.text import caption_tokenize


class HostWords:
    """Numbers the words of captions, decoded to strings.

    The ids of a tokenizer are pieces of words, while n-gram scores count
    words: captions and references are decoded on the host, tokenized as in an
    evaluation, and their words numbered. The score itself is computed in the
    graph. Captions are cached; a new one takes 0.05 ms.

    Of a caption of T ids, the first `T + T // 2` words and its end count.

    Args:
        vocabulary: Object that decodes the ids, see
            `tfcap.text.as_vocabulary()`.
        words: Sequence of words, which get the ids of
            `tfcap.text.Vocabulary(words)`; other words get larger ids.
            Defaults to none.
        count_eos: Boolean, whether the end token is a word. Defaults to
            `True`.
    """

    def __init__(
        self,
        vocabulary: Any,
        words: Sequence[str] = (),
        count_eos: bool = True,
    ):
        self.vocabulary = vocabulary
        self.words = Vocabulary(words)
        self.count_eos = count_eos
        self._read = functools.lru_cache(50_000)(self._words_of)

    def __call__(self, words: Any, references: Any, eos: Any) -> tuple:
        """Translates captions and their references.

        Args:
            words: Integer tensor of shape `(B, S, T)`, -1 for no word.
            references: Integer tensor of shape `(B, N, U)`, as `words`.
            eos: Integer or tuple of integers, the end tokens.

        Returns:
            Int32 tensors of shapes `(B, S, W)` and `(B, N, W)`, as these.
        """
        samples = words.shape[1]
        lengths = words.shape[2], references.shape[2]
        width = None if None in lengths else _width(max(lengths))
        rows = references.shape[1]
        count = None if None in (samples, rows) else samples + rows

        def read(words, references):
            return self.read(words, references, np.ravel(eos))

        numbered = call_on_host(
            read, (words, references), (words.shape[0], count, width), "int32"
        )
        samples = ops.shape(words)[1]
        return numbered[:, :samples], numbered[:, samples:]

    def read(self, words: NDArray, references: NDArray, eos: NDArray):
        """Translates on the host: `(B, S, T)`, `(B, N, U)` to one array."""
        width = _width(max(words.shape[2], references.shape[2]))
        shape = len(words), words.shape[1] + references.shape[1], width
        numbered = np.full(shape, -1, np.int32)
        ids = self.words.word_ids
        # Unknown ones are told apart within this batch.
        beyond = collections.defaultdict(
            itertools.count(self.words.size).__next__
        )
        for image, rows in enumerate(zip(words, references)):
            for place, row in enumerate(itertools.chain(*rows)):
                said = np.asarray(row[row >= 0], np.int32).tobytes()
                spoken, ended = self._read(said, tuple(eos))
                own = [
                    ids[word] if word in ids else beyond[word]
                    for word in spoken[: width - 1]
                ]
                if ended and self.count_eos:
                    own.append(self.words.eos)
                numbered[image, place, : len(own)] = own
        return numbered

    def _words_of(self, row: bytes, eos: tuple):
        """Words of a caption's ids, and whether it has ended."""
        ids = np.frombuffer(row, np.int32)
        ends = np.isin(ids, eos)
        text = self.vocabulary.decode(ids[~ends].tolist())
        return tuple(caption_tokenize(text)), bool(ends.any())


def _width(length):
    """Returns the maximum number of words of a caption, with its end."""
    return length + length // 2 + 1
