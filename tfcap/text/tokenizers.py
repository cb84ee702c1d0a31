"""Tokenizers of other libraries as vocabularies."""

import functools
import itertools
import operator
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcap.text.ngrams import flatten_rows
from tfcap.text.vocabulary import Vocabulary


class Tokenizer(NamedTuple):
    """Vocabulary and functions read from a tokenizer.

    Args:
        size: Integer, number of ids.
        pieces: Function without arguments that returns a list of strings: the
            piece of id i at index i.
        encode: Function from a list of strings to as many lists of ids,
            without special tokens.
        decode: Function from a list of ids to a string.
        special: Dict from `"pad"`, `"bos"`, `"eos"` and `"unk"` to ids, as far
            as the tokenizer defines them.
        is_words: Boolean, whether a piece is a word.
    """

    size: int
    pieces: Callable
    encode: Callable
    decode: Callable
    special: dict
    is_words: bool = False


class TokenizerVocabulary(Vocabulary):
    """A tokenizer with the interface of a `tfcap.text.Vocabulary`.

    Made by `tfcap.text.as_vocabulary()`.

    Args:
        tokenizer: Object that was read.
        read: `Tokenizer`, the result of reading it.
        size, pad, bos, eos, unk: See `as_vocabulary()`; none is optional, but
            `bos` and `unk` may be `None`.

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
        self.size = size

    @functools.cached_property
    def tokens(self):
        """Tuple of the pieces; empty ones for ids that the tokenizer lacks."""
        pieces = [str(x) for x in self._read.pieces()]
        return tuple(pieces + [""] * (self.size - len(pieces)))

    @functools.cached_property
    def words(self):
        """Tuple of the pieces that are not special."""
        special = {self.pad, self.bos, self.unk, *np.ravel(self.eos).tolist()}
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
        end = [int(np.ravel(self.eos)[0])] if eos else []
        return [[int(i) for i in row[:max_length]] + end for row in rows]

    def _joined(self, ids):
        # A model may have more ids than its tokenizer; they mean nothing.
        known = [i for i in ids if i < self._read.size]
        return self._read.decode(known) if known else ""

    def get_config(self):
        """Raises a TypeError: save the tokenizer by its own library."""
        raise TypeError(
            "A vocabulary of `as_vocabulary()` must be saved by the library "
            f"of its tokenizer. Received: {self!r}."
        )

    def __contains__(self, word):
        return word in self.tokens

    def __repr__(self):
        name = type(self.tokenizer).__name__
        return f"<Vocabulary of the {self.size} ids of a {name}>"


#: Common names of special tokens, for tokenizers that do not define them; the
#: first one in the tokenizer counts.
NAMES = {
    "pad": ("<pad>", "[PAD]", "<|pad|>", "[pad]"),
    "bos": (
        *("<bos>", "<s>", "<start>", "[start]", "[START]", "[BOS]", "<sos>"),
        *("startseq", "<|startoftext|>", "<|begin_of_text|>", "[CLS]"),
        "<|endoftext|>",
    ),
    "eos": (
        *("<eos>", "</s>", "<end>", "[end]", "[END]", "[EOS]", "endseq"),
        *("<|endoftext|>", "<|end_of_text|>", "[SEP]"),
    ),
    "unk": ("<unk>", "[UNK]", "<|unk|>"),
}


def as_vocabulary(
    tokenizer: Any,
    pad: int | str | None = None,
    bos: int | str | None = None,
    eos: int | str | tuple | None = None,
    unk: int | str | None = None,
    size: int | None = None,
) -> Vocabulary:
    """Wraps a tokenizer of another library as a vocabulary.

    All functions of this package with the argument `vocabulary` call it. It
    recognizes, by their methods and without importing their libraries,
    `keras.layers.TextVectorization` and `StringLookup`, the tokenizers of
    KerasHub, `SentencePieceProcessor`, `tokenizers.Tokenizer` and the
    tokenizers of `transformers`.

    Special ids are those that the tokenizer defines, else those of the usual
    names, such as `[start]` and `<eos>`. Without a padding token, sequences are
    padded with the (first) end token, as usual for GPT-2.

    Args:
        tokenizer: One of these; a `Vocabulary`, or another object with
            `decode(ids)`, is returned as it is.
        pad, bos, eos, unk: Integer id, or string, the piece; `eos` may be a
            tuple of them if several tokens end a sentence. Default to those of
            the tokenizer.
        size: Integer, number of ids of the model, if it has more than its
            tokenizer. Defaults to the size of the tokenizer.

    Returns:
        Object with `size, pad, bos, eos, unk, tokens, words, encode(),
        encode_batch(), decode(), decode_batch()` of a `Vocabulary`, which also
        encodes strings; `is_words`, false if ids are subwords; and
        `tokenizer`. `bos` and `unk` are `None` if the tokenizer has none.

    Raises:
        TypeError: If `tokenizer` is of no known kind.
        ValueError: If no end token is known, or a special token is missing in
            the tokenizer.

    Example:

    >>> layer = keras.layers.TextVectorization(
    ...     standardize=None, vocabulary=["<start>", "<end>", "red", "bus"]
    ... )
    >>> vocabulary = tfcap.text.as_vocabulary(layer)
    >>> vocabulary.pad, vocabulary.bos, vocabulary.eos, vocabulary.unk
    (0, 2, 3, 1)
    >>> vocabulary.decode([2, 4, 5, 3, 0])
    'red bus'
    """
    asked = {"pad": pad, "bos": bos, "eos": eos, "unk": unk}
    given = {k: v for k, v in asked.items() if v is not None}
    read = None if isinstance(tokenizer, Vocabulary) else _read(tokenizer)
    if read is None:
        return _as_it_is(tokenizer, given, size)
    if size is not None and size < read.size:
        raise ValueError(
            f"`size` must be at least {read.size}, that of the tokenizer. "
            f"Received: size={size}."
        )
    size = read.size if size is None else operator.index(size)
    known = _named(read) if None in [*map(read.special.get, NAMES)] else {}
    own = {k: v for k, v in read.special.items() if v is not None}
    known |= own | {k: _id(read, k, v, size) for k, v in given.items()}
    if known.get("eos") is None:
        raise ValueError(
            "`eos`, the token that ends a sentence, must be known. Received: "
            f"a {type(tokenizer).__name__} that defines none. Pass its id, or "
            "the token as a string."
        )
    first = int(np.ravel(known["eos"])[0])
    known = {"pad": first, "bos": None, "unk": None, **known}
    return TokenizerVocabulary(tokenizer, read, size, **known)


def _as_it_is(vocabulary, given, size):
    if not hasattr(vocabulary, "decode"):
        raise TypeError(
            "`vocabulary` must have `decode(ids)`, or be a tokenizer of Keras, "
            "KerasHub, SentencePiece or Hugging Face. Received: "
            f"vocabulary={vocabulary!r}."
        )
    if size is not None:
        given = {**given, "size": size}
    if given:
        raise ValueError(
            "Special ids and `size` must not be given for a vocabulary, which "
            f"has them. Received: {', '.join(given)} with {vocabulary!r}. "
            "Leave them out."
        )
    return vocabulary


def _id(read, name, value, size):
    """The id of a special token that is given by its id or its piece."""
    if isinstance(value, tuple | list) and name == "eos" and len(value):
        return tuple(_id(read, name, x, size) for x in value)
    pieces = read.pieces() if isinstance(value, str) else ()
    if isinstance(value, str) and value in pieces:
        return list(pieces).index(value)
    if isinstance(value, int | np.integer) and 0 <= value < size:
        return int(value)
    raise ValueError(
        f"`{name}` must be an id in [0, {size}) or a piece of the tokenizer. "
        f"Received: {name}={value!r}."
    )


def _named(read):
    """Special ids by the usual names."""
    # From the last to the first, so that the first one remains.
    pieces = list(read.pieces())
    ids = {pieces[i]: i for i in reversed(range(len(pieces)))}
    return {
        kind: ids[name]
        for kind, names in NAMES.items()
        for name in reversed(names)
        if name in ids
    }


def _read(tokenizer):
    """Reads a tokenizer; returns None if it is of no known kind."""
    kinds = {
        _transformers: ("convert_ids_to_tokens", "eos_token_id"),
        _tokenizers: ("get_vocab_size", "id_to_token", "token_to_id"),
        _sentencepiece: ("id_to_piece", "get_piece_size", "pad_id"),
        _keras_hub: ("detokenize", "get_vocabulary", "vocabulary_size"),
        _keras: ("get_vocabulary", "adapt"),
    }
    for read, methods in kinds.items():
        if all(hasattr(tokenizer, x) for x in methods):
            return read(tokenizer)
    return None


def _transformers(tokenizer):
    size = len(tokenizer)
    return Tokenizer(
        size,
        lambda: tokenizer.convert_ids_to_tokens(list(range(size))),
        lambda texts: [
            tokenizer.encode(text, add_special_tokens=False) for text in texts
        ],
        lambda ids: tokenizer.decode(ids, skip_special_tokens=True),
        {x: getattr(tokenizer, f"{x}_token_id", None) for x in NAMES},
    )


def _tokenizers(tokenizer):
    size = tokenizer.get_vocab_size()
    padding = tokenizer.padding or {}

    def encode(texts):
        rows = tokenizer.encode_batch(texts, add_special_tokens=False)
        # Padding has no attention.
        return [
            [i for i, own in zip(row.ids, row.attention_mask) if own]
            for row in rows
        ]

    return Tokenizer(
        size,
        lambda: [tokenizer.id_to_token(i) or "" for i in range(size)],
        encode,
        lambda ids: tokenizer.decode(ids, skip_special_tokens=True),
        {"pad": padding.get("pad_id")},
        type(tokenizer.model).__name__ == "WordLevel",
    )


def _sentencepiece(tokenizer):
    size = tokenizer.get_piece_size()
    special = {x: getattr(tokenizer, f"{x}_id")() for x in NAMES}
    return Tokenizer(
        size,
        lambda: [tokenizer.id_to_piece(i) for i in range(size)],
        lambda texts: tokenizer.encode(texts, out_type=int),
        tokenizer.decode,
        {x: i for x, i in special.items() if i >= 0},
    )


def _keras_hub(tokenizer):
    size = tokenizer.vocabulary_size()

    def token(*names):
        ids = [getattr(tokenizer, f"{x}_token_id", None) for x in names]
        return next((i for i in ids if i is not None), None)

    def pieces():
        known = tokenizer.get_vocabulary()
        mapping = getattr(tokenizer, "vocabulary", None)
        if not isinstance(mapping, dict):
            return list(known)
        # Pieces may be in another order than their ids.
        ordered = [""] * size
        for piece, i in mapping.items():
            ordered[i] = piece
        return ordered

    def encode(texts):
        rows = tokenizer.tokenize(texts)
        rows = rows.to_list() if hasattr(rows, "to_list") else rows
        return [np.asarray(row).tolist() for row in rows]

    def decode(ids):
        text = tokenizer.detokenize(ids)
        text = text.numpy() if hasattr(text, "numpy") else text
        return text.decode() if isinstance(text, bytes) else str(text)

    ends = token("end"), getattr(tokenizer, "end_token2_id", None)
    ends = tuple(i for i in ends if i is not None)
    return Tokenizer(
        size,
        pieces,
        encode,
        decode,
        {
            "pad": token("pad"),
            "bos": token("start"),
            "eos": ends if len(ends) > 1 else token("end"),
            "unk": token("unk", "unknown"),
        },
    )


def _keras(layer):
    """`TextVectorization` and `StringLookup`."""
    pieces = [str(x) for x in layer.get_vocabulary()]
    ids = {piece: i for i, piece in enumerate(pieces)}
    config = layer.get_config()
    split = config.get("split", "whitespace")
    mode = config.get("output_mode", "int")
    if mode != "int":
        raise ValueError(
            '`vocabulary` must be a layer of `output_mode="int"`, which gives '
            f"ids. Received: output_mode={mode!r}."
        )

    unknown = ids.get(config.get("oov_token") or "[UNK]")

    def word_id(word):
        return ids[word] if unknown is None else ids.get(word, unknown)

    def encode(texts):
        if "split" not in config:
            return [[word_id(x) for x in text.split()] for text in texts]
        rows = layer(texts)
        rows = rows.to_list() if hasattr(rows, "to_list") else np.asarray(rows)
        return [[i for i in row if i != ids.get("")] for row in rows]

    mask = config.get("mask_token") or ""
    special = {"pad": ids.get(mask), "unk": unknown}
    between = "" if split == "character" else " "
    return Tokenizer(
        len(pieces),
        lambda: pieces,
        encode,
        lambda row: between.join(pieces[i] for i in row),
        special,
        split != "character" and not config.get("ngrams"),
    )


def word_pieces(vocabulary: Any, tokenizer: Any) -> NDArray:
    """Spells the words of a vocabulary in the pieces of another tokenizer.

    With it, a network that reads pieces can read the soft words of a speaker,
    see `tfcap.models.CLIPListener`: each place in a word has a fixed, sparse
    matrix of words and pieces.

    Args:
        vocabulary: Vocabulary or tokenizer of the speaker, size V. Each id is
            spelled as a separate word, even if it is a subword.
        tokenizer: Tokenizer of the network.

    Returns:
        Int32 array of shape `(V, K)`: the ids of the pieces of every word, -1
        after its last. Special ids of the vocabulary have none.

    Raises:
        TypeError: If `tokenizer` is a `Vocabulary` of words.

    Example:

    >>> from tfcap.text.tokenizers import word_pieces
    >>> from tfcap.text import Vocabulary
    >>> letters = keras.layers.TextVectorization(
    ...     standardize=None, split="character", vocabulary=[*"$abc"]
    ... )
    >>> tokenizer = tfcap.text.as_vocabulary(letters, eos="$")
    >>> word_pieces(Vocabulary(["cab", "a"]), tokenizer)[4:]
    array([[ 5,  3,  4],
           [ 3, -1, -1]], dtype=int32)
    """
    vocabulary = as_vocabulary(vocabulary)
    tokenizer = as_vocabulary(tokenizer)
    if type(tokenizer) is Vocabulary:
        raise TypeError(
            "`tokenizer` must split strings into pieces. Received: "
            f"{tokenizer!r}, which knows only whole words. Pass the tokenizer "
            "of the network."
        )
    special = {vocabulary.pad, vocabulary.bos, vocabulary.unk}
    special |= {*np.ravel(vocabulary.eos).tolist()}
    words = [
        "" if i in special else vocabulary.decode([i]).strip()
        for i in range(vocabulary.size)
    ]
    ids, splits = tokenizer.encode_ragged(words)
    rows = [ids[a:b].tolist() for a, b in itertools.pairwise(splits)]
    longest = max(map(len, rows))
    return np.array([x + [-1] * (longest - len(x)) for x in rows], np.int32)
