"""Latent semantic analysis of captions."""

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

#: Entries of the matrix that are multiplied at a time.
_ENTRIES = 2**17
_PASSES = 3
_MORE = 16


class LatentSemantics:
    """Vectors of captions by the words that they share.

    A caption is a row of `(1 + log n) log(N / N_w)`, of length 1: `n` times
    the word `w`, which is in `N_w` of `N` captions. Its vector is the row times
    the `size` greatest right singular vectors, found by subspace iteration.

    Args:
        captions: List of lists of words to learn from.
        size: Integer `D`, at most the number of known words.
        min_count: Integer, least number of captions with a known word.

    Attributes:
        words: List of the known words.
        explained: Float, share of the variance of the rows that is kept.

    Reference:

    - Deerwester et al., Indexing by Latent Semantic Analysis, 1990
    - Halko et al., Finding Structure with Randomness, 2011, algorithm 4.4
    """

    def __init__(self, captions: list, size: int, min_count: int = 5):
        counts = Counter(w for words in captions for w in set(words))
        self.words = sorted(w for w, n in counts.items() if n >= min_count)
        if not 0 < size <= len(self.words):
            raise ValueError(
                "`size` must be between 1 and the number of known words, "
                f"{len(self.words):,}. Received: size={size}."
            )
        self._known = {word: i for i, word in enumerate(self.words)}
        self._rarity = [math.log(len(captions) / counts[w]) for w in self.words]
        rows, columns, values = self._entries(captions)
        order = np.argsort(columns, kind="stable")
        turned = (columns[order], rows[order], values[order])
        width = len(self.words)

        def gram(basis):
            """Product of the matrix's square with a matrix."""
            product = _times(rows, columns, values, basis, len(captions))
            return _times(*turned, product, width)

        shape = (width, min(width, size + _MORE))
        basis = np.random.default_rng(0).normal(size=shape)
        basis = basis.astype(np.float32)
        for _ in range(_PASSES):
            basis = np.linalg.qr(gram(basis))[0]
        squares, turn = np.linalg.eigh(basis.T @ gram(basis))
        vectors = (basis @ turn[:, ::-1])[:, :size]
        # An eigenvector has no sign of its own.
        largest = vectors[np.abs(vectors).argmax(0), np.arange(size)]
        self._vectors = vectors * np.sign(largest)
        total = float(np.sum(values**2))
        self.explained = float(squares[::-1][:size].sum()) / total

    def __call__(self, captions: list) -> NDArray:
        """Vectors of captions, float32 `(n, D)`."""
        return _times(*self._entries(captions), self._vectors, len(captions))

    def _entries(self, captions):
        """Rows, columns and values of the matrix, sorted by rows."""
        rows, columns, values = [], [], []
        for row, words in enumerate(captions):
            counts = Counter(
                x for x in map(self._known.get, words) if x is not None
            )
            weights = [
                (1 + math.log(n)) * self._rarity[x] for x, n in counts.items()
            ]
            length = math.sqrt(sum(x * x for x in weights)) or 1.0
            rows += [row] * len(counts)
            columns += counts
            values += [x / length for x in weights]
        return (
            np.array(rows, np.int64),
            np.array(columns, np.int64),
            np.array(values, np.float32),
        )


def _times(rows, columns, values, right, count):
    """Product of a sparse matrix of `count` rows, whose entries are sorted."""
    product = np.zeros((count, right.shape[1]), np.float32)
    for start in range(0, len(rows), _ENTRIES):
        part = slice(start, start + _ENTRIES)
        terms = values[part, None] * right[columns[part]]
        own, firsts = np.unique(rows[part], return_index=True)
        product[own] += np.add.reduceat(terms, firsts, axis=0)
    return product
