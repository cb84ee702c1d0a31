"""Prefix trees of candidate answers, in NumPy."""

from typing import NamedTuple

import numpy as np


class TrieLevel(NamedTuple):
    """The distinct prefixes of one length; those that go on come first.

    Args:
        parent: Integer array of shape `(n,)`, each node's row in the level
            above; in the first level, its question.
        token: Integer array of shape `(n,)`, the prefix's last word.
        question: Integer array of shape `(n,)`.
        inner: Integer, number of nodes that have children.
    """

    parent: np.ndarray
    token: np.ndarray
    question: np.ndarray
    inner: int


class CandidateTrie(NamedTuple):
    """The candidates of some questions with their common beginnings merged.

    Args:
        levels: List of `TrieLevel`.
        leaf: Integer array of shape `(Q, N)`, the node at which an option
            ends, counted through all levels in order; -1 for absent options.
        length: Integer array of shape `(Q, N)`, words of an option, the end
            token included; 0 for absent options.
    """

    levels: list[TrieLevel]
    leaf: np.ndarray
    length: np.ndarray

    @property
    def steps(self):
        """Number of speaker steps that scoring takes, in rows."""
        return len(self.leaf) + sum(level.inner for level in self.levels)


def build_trie(answers, options, eos):
    """Merges what the candidates of a question have in common.

    Candidate lists repeat themselves ("yes", "yes it is", "yes there is"): a
    speaker that has read "yes" once can score all that follows. A list of 100
    real candidates holds about three times fewer distinct prefixes than padded
    words.

    Args:
        answers: Integer array of shape `(A, T)`: words, the end token, padding
            of 0. An answer without an end token is scored without one.
        options: Integer array of shape `(Q, N)`, rows of `answers`; -1 for an
            absent option.
        eos: Integer, the end token's id.

    Returns:
        `CandidateTrie`.

    Raises:
        ValueError: If an option points outside `answers`, or at an empty one.

    Example:

    >>> answers = np.array([[5, 2, 0], [5, 7, 2], [6, 2, 0]])
    >>> trie = build_trie(answers, np.array([[0, 1, 2, 0]]), eos=2)
    >>> [level.token.tolist() for level in trie.levels]
    [[5, 6], [7, 2, 2], [2]]
    >>> trie.leaf.tolist(), trie.steps
    ([[3, 5, 4, 3]], 4)
    """
    answers, options = np.asarray(answers), np.asarray(options)
    if options.size and not -1 <= options.min() <= options.max() < len(answers):
        raise ValueError(
            f"`options` must be in [-1, {len(answers)}), the rows of "
            "`answers`. Received: values from "
            f"{options.min()} to {options.max()}."
        )
    length = np.where(options >= 0, _lengths(answers, eos)[options], 0)
    if (length[options >= 0] == 0).any():
        row = options[(options >= 0) & (length == 0)][0]
        raise ValueError(
            "`answers` must hold at least one word in each row that an option "
            f"names. Received: an empty row {row}. Mark absent options by -1."
        )
    question, option = np.nonzero(options >= 0)
    words, ends = answers[options[question, option]], length[question, option]
    leaf = np.full(options.shape, -1)
    levels, node, above, base = [], question, np.arange(len(options)), 0
    for t in range(ends.max(initial=0)):
        level, node = _level(node, words[:, t], ends > t + 1, above)
        levels.append(level)
        last = ends == t + 1
        leaf[question[last], option[last]] = base + node[last]
        base, above = base + len(level.token), level.question
        question, option, node = question[~last], option[~last], node[~last]
        words, ends = words[~last], ends[~last]
    return CandidateTrie(levels, leaf, length)


def _level(parents, tokens, goes_on, questions_above):
    """One level, and the node of each option in it."""
    span = int(tokens.max()) + 1
    keys, node = np.unique(
        parents.astype("int64") * span + tokens, return_inverse=True
    )
    has_children = np.zeros(len(keys), bool)
    has_children[node[goes_on]] = True
    order = np.argsort(~has_children, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    parent, token = np.divmod(keys[order], span)
    level = TrieLevel(
        parent.astype("int32"),
        token.astype("int32"),
        questions_above[parent].astype("int32"),
        int(has_children.sum()),
    )
    return level, position[node]


def _lengths(answers, eos):
    """Words up to the first end token or padding."""
    stop = (answers == 0) | (answers == eos)
    first = np.where(stop.any(-1), stop.argmax(-1), answers.shape[-1])
    padded = np.pad(answers, [(0, 0), (0, 1)])
    ends = np.take_along_axis(padded, first[:, None], -1)[:, 0] == eos
    return first + ends
