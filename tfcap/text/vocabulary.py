"""The words a model knows, and their ids."""

import itertools
import json
from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np

from tfcap._io import malformed
from tfcap._io import read_sealed
from tfcap._io import sealed
from tfcap._io import whole_file

_FORMAT = "tfcap-vocabulary"
_ROWS = (list, tuple, np.ndarray)
_WRITE = "Write one with `Vocabulary.save()`."
SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")


class Vocabulary:
    """Maps words to ids and back.

    Ids 0 to 3 are padding, beginning of sentence, end of sentence and the
    unknown word; the given words follow in order. In a list sorted by
    frequency, frequent words get small ids.

    Published vocabularies, and how to build them:

    - COCO, 9,487: words that occur more than 5 times in the tokens of
      Karpathy's `dataset_coco.json`, all splits together, and the unknown word:
      `from_counts(counts, min_count=6)` has `len(words) + 1 == 9487`.
    - VisDial v0.9, 8,964: words that occur at least 5 times in the training
      split: `tfcap.data.build_vocabulary(split, min_count=5)`. The authors'
      code requires more than 5.

    Args:
        words: Iterable of distinct, non-empty strings, without the special
            tokens.

    Attributes:
        pad, bos, eos, unk: The integers 0, 1, 2, 3.
        words: Tuple of the words, the special tokens not included.
        tokens: Tuple of the special tokens and the words: token i has id i.
        size: Integer, number of ids, special tokens included.
        is_words: Boolean, whether an id is a word: `True`.

    Raises:
        ValueError: If a word is empty, repeated or a special token.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["yes", "no", "maybe"])
    >>> vocabulary.encode(["no", "idea"], eos=True)
    [5, 3, 2]
    >>> vocabulary.decode([5, 4, 2, 0])
    'no yes'
    >>> vocabulary.encode_batch([["no"], ["yes", "maybe"]], eos=True)
    array([[5, 2, 0],
           [4, 6, 2]], dtype=int32)
    """

    pad, bos, eos, unk = range(4)
    is_words = True

    def __init__(self, words):
        self.words = tuple(words)
        self.tokens = SPECIAL + self.words
        self.size = len(self.tokens)
        for word in self.words:
            if not isinstance(word, str) or not word or word in SPECIAL:
                raise ValueError(
                    "`words` must be non-empty strings other than the special "
                    f"tokens {', '.join(SPECIAL)}. Received: {word!r} among "
                    "them. Leave it out: the special tokens are always there."
                )
        self.ids = {word: i for i, word in enumerate(self.tokens)}
        if len(self.ids) != len(self.tokens):
            raise ValueError(
                "`words` must be distinct. Received: "
                f"{len(self.tokens) - len(self.ids)} repetitions among "
                f"{len(self.words)} words. Pass `dict.fromkeys(words)`."
            )
        # For encoding: a special token in a text must not end a sentence.
        self.word_ids = {w: i for w, i in self.ids.items() if w not in SPECIAL}

    @classmethod
    def from_counts(cls, counts, min_count: int = 5) -> "Vocabulary":
        """Builds a vocabulary of the frequent words, the most frequent first.

        Args:
            counts: Mapping of words to numbers of occurrences, for instance a
                `collections.Counter`. Ties are in alphabetical order; special
                tokens are left out.
            min_count: Integer, least number of occurrences of a word that is
                kept. Defaults to `5`.

        Returns:
            A `Vocabulary`.
        """
        kept = [
            word
            for word, count in counts.items()
            if count >= min_count and word not in SPECIAL
        ]
        return cls(sorted(kept, key=lambda word: (-counts[word], word)))

    def encode(
        self,
        tokens: Sequence[str],
        max_length: int | None = None,
        eos: bool = False,
    ) -> list:
        """Ids of a tokenized sentence.

        Args:
            tokens: Sequence of words; one that is spelled like a special token
                is unknown. A string is rejected: tokenize it first.
            max_length: Integer, optional. Words beyond it are cut off.
            eos: Boolean, whether to append EOS (after the cut).

        Returns:
            List of integers.
        """
        return self.encode_ragged([tokens], max_length, eos)[0].tolist()

    def encode_batch(
        self,
        sentences: Sequence[Sequence[str]],
        max_length: int | None = None,
        eos: bool = False,
    ):
        """Ids of many tokenized sentences, padded on the right with 0.

        Args:
            sentences: Sequence of sequences of words.
            max_length: Integer, optional. Words beyond it are cut off.
                Defaults to the length of the longest sentence.
            eos: Boolean, whether to append EOS (after the cut).

        Returns:
            Integer array of shape `(n, max_length)`, or `(n, max_length + 1)`
            with `eos`, dtype int32.
        """
        values, splits = self.encode_ragged(sentences, max_length, eos)
        lengths = np.diff(splits)
        if max_length is None:
            width = int(lengths.max(initial=bool(eos)))
        else:
            width = max_length + bool(eos)
        ids = np.full((len(sentences), width), self.pad, np.int32)
        ids[np.arange(width) < lengths[:, None]] = values
        return ids

    def encode_ragged(self, sentences, max_length=None, eos=False):
        """Ids of many tokenized sentences, one after another.

        The arguments are those of `encode_batch()`.

        Returns:
            Pair of the ids, an int32 array, and the row splits, an int64 array
            of shape `(n + 1,)`, as `tf.RaggedTensor.from_row_splits` takes
            them: sentence i is `ids[splits[i] : splits[i + 1]]`.
        """
        _check_sentences(sentences)
        get, unk = self.word_ids.get, self.unk
        end = (self.eos,) if eos else ()
        rows = (
            itertools.chain((get(w, unk) for w in words[:max_length]), end)
            for words in sentences
        )
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        if max_length is not None:
            lengths = np.minimum(lengths, max_length)
        splits = np.append(0, np.cumsum(lengths + len(end)))
        flat = itertools.chain.from_iterable(rows)
        return np.fromiter(flat, np.int32, int(splits[-1])), splits

    def decode(self, ids) -> str:
        """Words of one sentence, joined by spaces.

        Args:
            ids: Iterable of integers, or a tensor. Reading stops at the first
                EOS; padding and BOS are skipped.

        Returns:
            String.

        Raises:
            ValueError: If an id before the first EOS is out of range.
            TypeError: If such an id is not an integer.
        """
        ends = self.eos if isinstance(self.eos, tuple) else (self.eos,)
        size, kept = self.size, []
        for i in _host(ids):
            if i in ends:
                break
            if not hasattr(i, "__index__"):
                raise TypeError(
                    f"`ids` must be integers. Received: {i!r} at index "
                    f"{len(kept)}. Take the argmax of scores; cast floats."
                )
            if not 0 <= i < size:
                raise ValueError(
                    f"`ids` must lie in [0, {size}), the ids of this "
                    f"vocabulary. Received: {i} at index {len(kept)}. Decode "
                    "with the vocabulary that encoded."
                )
            kept.append(int(i))
        return self._joined([i for i in kept if i not in (self.pad, self.bos)])

    def _joined(self, ids):
        return " ".join([self.tokens[i] for i in ids])

    def decode_batch(self, ids) -> list:
        """Sentences of many rows of ids.

        Args:
            ids: Integer array or tensor of shape `(n, T)`, padded with 0, a
                sequence of sequences of any lengths, or a ragged tensor. More
                axes, such as samples, give lists of lists.

        Returns:
            List of `n` strings, see `decode()`.

        Raises:
            ValueError, TypeError: As `decode()`.
        """
        sentences = []
        for words in _host(ids):
            deeper = len(_host(words)) and isinstance(words[0], _ROWS)
            read = self.decode_batch if deeper else self.decode
            sentences.append(read(words))
        return sentences

    def save(self, path):
        """Writes the vocabulary to a JSON file, with a checksum."""
        content = sealed({"format": _FORMAT, **self.get_config()})
        with whole_file(path, "w") as file:
            json.dump(content, file, ensure_ascii=False, indent=0)

    @classmethod
    def load(cls, path):
        """Reads a vocabulary that `save()` wrote.

        Raises:
            ValueError: If the file is not a vocabulary, or is damaged.
        """
        content = read_sealed(path, _WRITE)
        words = content.get("words") if isinstance(content, dict) else None
        wanted = {"format": _FORMAT, "words": words}
        if content != wanted or not isinstance(words, list):
            problem = "the content is not a vocabulary"
            raise malformed(path, "", problem, _WRITE)
        try:
            return cls(words)
        except ValueError as error:
            raise malformed(
                path, "`words`", f"is a fault ({error})", _WRITE
            ) from error

    def get_config(self):
        """The arguments that make an equal vocabulary."""
        return {"words": list(self.words)}

    @classmethod
    def from_config(cls, config):
        """The inverse of `get_config()`."""
        return cls(**config)

    def __len__(self):
        return self.size

    def __contains__(self, word):
        return word in self.ids

    def __eq__(self, other):
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.words == other.words

    def __hash__(self):
        return hash(self.words)

    def __repr__(self):
        return f"<Vocabulary of {self.size} ids>"


def _host(ids):
    """Ids as a sequence that is fast to iterate over."""
    if hasattr(ids, "numpy"):
        ids = ids.numpy()
    if isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype != object:
        return ids.tolist()
    if not isinstance(ids, Iterable) or isinstance(ids, str):
        raise TypeError(
            "`ids` must be a sequence of integers, or of such sequences for "
            f"`decode_batch()`. Received: {ids!r}."
        )
    return ids


def _check_tokens(tokens):
    if isinstance(tokens, str) or not isinstance(tokens, Iterable):
        raise TypeError(
            "`tokens` must be a sequence of words. Received: "
            f"tokens={tokens!r}. Split a string with "
            "`tfcap.text.word_tokenize()`."
        )


def _check_sentences(sentences):
    _check_tokens(sentences)
    for tokens in sentences:
        _check_tokens(tokens)
