"""Words of one vocabulary in the pieces of another."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcap.text.tokenizers import as_vocabulary
from tfcap.text.vocabulary import Vocabulary


def word_pieces(
    vocabulary: Any, tokenizer: Any, max_pieces: int | None = None
) -> NDArray:
    """Spells the words of a vocabulary in the pieces of another tokenizer.

    By it a network that reads pieces reads the soft words of a speaker, see
    `tfcap.models.CLIPListener`: a fixed, sparse matrix of words and pieces for
    each place in a word.

    Args:
        vocabulary: Vocabulary or tokenizer of the speaker, size V. Each id is
            read as a word of its own, also where it is a piece of a word.
        tokenizer: Tokenizer of the network.
        max_pieces: Integer, optional. Pieces of a word beyond it are cut off.

    Returns:
        Int32 array of shape `(V, K)`: the ids of the pieces of every word, -1
        after its last. Special ids of the vocabulary have none.

    Raises:
        TypeError: If `tokenizer` is a `Vocabulary` of words.

    Example:

    >>> from tfcap.text.word_pieces import word_pieces
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
            f"{tokenizer!r}, which knows whole words alone. Pass the tokenizer "
            "of the network."
        )
    special = {vocabulary.pad, vocabulary.bos, vocabulary.unk}
    special |= {*np.ravel(vocabulary.eos).tolist()}
    words = [
        "" if i in special else vocabulary.decode([i]).strip()
        for i in range(vocabulary.size)
    ]
    ids, splits = tokenizer.encode_ragged(words, max_pieces)
    rows = [ids[a:b].tolist() for a, b in itertools.pairwise(splits)]
    longest = max(map(len, rows))
    return np.array([x + [-1] * (longest - len(x)) for x in rows], np.int32)
