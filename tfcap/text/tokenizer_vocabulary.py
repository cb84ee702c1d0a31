"""Vocabulary of a tokenizer that somebody else wrote."""

import functools
from collections.abc import Callable
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tfcap.text.ngrams import flatten_rows
from tfcap.text.vocabulary import Vocabulary


class Tokenizer(NamedTuple):
    """Vocabulary and functions read from a tokenizer.

    Args:
        size: Integer, number of ids.
        pieces: Function without arguments that returns a list of strings,
            that of id i at index i.
        encode: Function from a list of strings to as many lists of ids,
            without special tokens.
        decode: Function from a list of ids to a string.
        special: Dict from `"pad"`, `"bos"`, `"eos"` and `"unk"` to ids, where
            the tokenizer tells.
        is_words: Boolean, whether a piece is a word.
    """

    size: int
    pieces: Callable
    encode: Callable
    decode: Callable
    special: dict
    is_words: bool = False


class TokenizerVocabulary(Vocabulary):
    """A tokenizer with the face of a `tfcap.text.Vocabulary`.

    Made by `tfcap.text.as_vocabulary()`.

    Args:
        tokenizer: Object that was read.
        read: `Tokenizer`, what was read of it.
        size, pad, bos, eos, unk: As of `as_vocabulary()`, all known; `bos` and
            `unk` may be `None`, where there is none.

    Attributes:
        tokenizer: The object that was given.
        tokens: Tuple of the pieces: piece i has id i.
        words: Tuple of the pieces that are not special.
        is_words: Boolean, whether an id is a word.
    """

    def __init__(self, tokenizer, read, size, pad, bos, eos, unk):
        self.tokenizer = tokenizer
        self.is_words = read.is_words
        self.pad, self.bos, self.eos, self.unk = pad, bos, eos, unk
        self._read = read
        self._size = size

    @property
    def size(self):
        """Number of ids."""
        return self._size

    @functools.cached_property
    def tokens(self):
        """Tuple of the pieces; of ids that the tokenizer lacks, empty ones."""
        pieces = [str(x) for x in self._read.pieces()]
        return tuple(pieces + [""] * (self.size - len(pieces)))

    @functools.cached_property
    def words(self):
        """Tuple of the pieces that are not special."""
        ends = self.eos if isinstance(self.eos, tuple) else (self.eos,)
        special = {self.pad, self.bos, self.unk, *ends}
        return tuple(x for i, x in enumerate(self.tokens) if i not in special)

    def encode(
        self,
        tokens: str | Sequence[str],
        max_length: int | None = None,
        eos: bool = False,
    ) -> list:
        """Ids of a sentence.

        Args:
            tokens: String, or a sequence of words, which are joined by spaces.
            max_length: Integer, optional. Pieces beyond it are cut off.
            eos: Boolean, whether to append EOS (after the cut).

        Returns:
            List of integers.
        """
        return self._encoded([tokens], max_length, eos)[0]

    def encode_ragged(self, sentences, max_length=None, eos=False):
        """Ids of many sentences, see `encode()` and `Vocabulary`."""
        rows = self._encoded(sentences, max_length, eos)
        ids, lengths = flatten_rows(rows)
        return ids, np.append(0, np.cumsum(lengths))

    def _encoded(self, sentences, max_length, eos):
        texts = [x if isinstance(x, str) else " ".join(x) for x in sentences]
        rows = self._read.encode(texts) if texts else []
        first = self.eos[0] if isinstance(self.eos, tuple) else self.eos
        end = [first] if eos else []
        return [[int(i) for i in row[:max_length]] + end for row in rows]

    def _joined(self, ids):
        # A model may have more ids than its tokenizer, which mean nothing.
        known = [i for i in ids if i < self._read.size]
        return self._read.decode(known) if known else ""

    def get_config(self):
        """Raises: a tokenizer is saved by the library that it is from."""
        raise TypeError(
            "A vocabulary of `as_vocabulary()` must be saved by the library "
            f"of its tokenizer. Received: {self!r}."
        )

    def __contains__(self, word):
        return word in self.tokens

    def __eq__(self, other):
        if not isinstance(other, TokenizerVocabulary):
            return NotImplemented
        return self is other or (
            self.special == other.special and self.tokens == other.tokens
        )

    @property
    def special(self):
        """Tuple of the size and the ids of pad, bos, eos and unk."""
        return self.size, self.pad, self.bos, self.eos, self.unk

    def __hash__(self):
        return hash(self.special)

    def __repr__(self):
        name = type(self.tokenizer).__name__
        return f"<Vocabulary of the {self.size} ids of a {name}>"
