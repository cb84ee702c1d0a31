"""Generative ranking: the likelihood of each candidate under a speaker."""

import functools
import weakref
from typing import Any
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from tfcap._ops import reference_mask
from tfcap._ops import take_rows
from tfcap.decoding.rollout import NONE

# One graph per speaker and kind of state, for as long as the speaker lives.
_COMPILED = weakref.WeakKeyDictionary()


def score_candidates(
    speaker: Any,
    state: Any,
    answers: np.ndarray,
    options: np.ndarray,
    max_rows: int = 4096,
) -> np.ndarray:
    """Scores the candidates of each question by their likelihood.

    ```
    score = sum_t log p(word_t | words before, question)
    ```

    The end token counts as a word. The scores equal those of
    `speaker.log_probs()` for each candidate alone, but common prefixes are read
    once: the speaker walks down a prefix tree, all questions together, one
    word a level. On TensorFlow a level is one compiled call, traced once for
    all sizes.

    Args:
        speaker: `Speaker`, hashable; of it, `bos`, `eos` and `step()` are
            used.
        state: Nest of tensors with leading axis `Q`, from `speaker.begin()`.
        answers: Integer array of shape `(A, T)`, a table of answers: words,
            the end token, padding.
        options: Integer array of shape `(Q, N)`, rows of `answers`; -1 for an
            absent option.
        max_rows: Integer, maximum number of prefixes that the speaker reads at
            once, which bounds the memory of its logits. Defaults to `4096`.

    Returns:
        Float32 array of shape `(Q, N)`; `-inf` for absent options, so that
        they rank last.

    Raises:
        ValueError: If an option points at an empty answer.

    Example:

    >>> class Coin:
    ...     bos, eos = 1, 2
    ...
    ...     def step(self, words, state, training=False):
    ...         return keras.ops.zeros((keras.ops.size(words), 4)), state
    >>> answers = np.array([[3, 2, 0], [3, 3, 2]])
    >>> options = np.array([[0, 1, -1]])
    >>> np.exp(score_candidates(Coin(), np.zeros((1, 5)), answers, options))
    array([[0.25 , 0.125, 0.   ]], dtype=float32)

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 5: candidates are
      ranked by their log-likelihood; the released code takes the sum
    """
    answers, options = np.asarray(answers), np.asarray(options)
    questions, candidates = options.shape
    scores = np.empty(options.shape, "float32")
    # A level has at most one prefix per option.
    across = min(candidates, max_rows)
    down = max(1, max_rows // max(across, 1))
    for q in range(0, questions, down):
        rows = np.arange(q, min(q + down, questions))
        some = state if down >= questions else take_rows(state, rows)
        for n in range(0, candidates, across):
            block = (slice(q, q + down), slice(n, n + across))
            scores[block] = _score(speaker, some, answers, options[block])
    return scores


def _score(speaker, state, answers, options):
    pad = getattr(speaker, "pad", 0)
    trie = build_trie(answers, options, speaker.eos, pad)
    if not trie.levels:
        return np.full(options.shape, -np.inf, "float32")
    step = _level_step(speaker)
    questions = len(options)
    # The question is the node above the first words: nothing said, score 0.
    above = np.arange(questions, dtype="int32")
    words = np.full(questions, speaker.bos, "int32")
    scores, parts = np.zeros(questions, "float32"), []
    for level in trie.levels:
        scores, state = step(
            state, above, words, scores, level.parent, level.token
        )
        parts.append(scores)
        above, words = level.parent[: level.inner], level.token[: level.inner]
    totals = np.concatenate([ops.convert_to_numpy(x) for x in parts])
    return np.where(trie.leaf >= 0, totals[trie.leaf], -np.inf)


def _level_step(speaker):
    """The step of a level; on TensorFlow, one graph per kind of state."""
    if keras.backend.backend() != "tensorflow":
        return functools.partial(_rounded_walk, speaker)
    import tensorflow as tf

    graphs = _COMPILED.setdefault(speaker, {})
    # The graph must not keep alive the speaker that it is stored under.
    weak = weakref.ref(speaker)

    def step(state, *arrays):
        state = keras.tree.map_structure(tf.convert_to_tensor, state)
        # Every leading axis is left open: levels differ in size, not in kind.
        state_spec = keras.tree.map_structure(
            lambda x: tf.TensorSpec([None, *x.shape[1:]], x.dtype), state
        )
        leaves = keras.tree.flatten_with_path(state_spec)
        key = str([(path, spec.shape, spec.dtype) for path, spec in leaves])
        if key not in graphs:
            integers = tf.TensorSpec([None], "int32")
            floats = tf.TensorSpec([None], "float32")
            signature = [state_spec, integers, integers, floats]
            graphs[key] = tf.function(
                lambda *args: _walk(weak(), *args),
                input_signature=[*signature, integers, integers],
                autograph=False,
            )
        return graphs[key](state, *map(tf.convert_to_tensor, arrays))

    return step


def _rounded_walk(speaker, state, *arrays):
    """Walks a level of as many rows as the next power of two.

    Every size is compiled for: there are a dozen.
    """
    rows = [len(x) for x in arrays]
    more = [(1 << (n - 1).bit_length()) - n for n in rows]
    arrays = [np.pad(x, (0, k)) for x, k in zip(arrays, more)]
    scores, state = _walk(speaker, state, *arrays)
    return ops.convert_to_numpy(scores)[: rows[-1]], state


def _walk(speaker, state, above, words, scores, parent, token):
    """Says the words of a level, and scores the words that follow.

    Rows of `state` are the prefixes above; `above` and `words` make of them
    this level's prefixes, `parent` and `token` of those the next level's.
    """
    logits, state = speaker.step(words, take_rows(state, above), training=False)
    logits = NONE.for_speaker(speaker).apply(ops.cast(logits, "float32"))
    size = ops.shape(logits)[-1]
    chosen = ops.take(ops.reshape(logits, (-1,)), parent * size + token)
    normalizer = ops.logsumexp(logits, axis=-1)
    scores = ops.take(scores, parent) + chosen - ops.take(normalizer, parent)
    return scores, state


class TrieLevel(NamedTuple):
    """The distinct prefixes of one length; those that go on come first.

    Args:
        parent: Integer array of shape `(n,)`, each node's row in the level
            above; in the first level, its question.
        token: Integer array of shape `(n,)`, the prefix's last word.
        inner: Integer, number of nodes that have children.
    """

    parent: np.ndarray
    token: np.ndarray
    inner: int


class CandidateTrie(NamedTuple):
    """The candidates of some questions with their common prefixes merged.

    Args:
        levels: List of `TrieLevel`.
        leaf: Integer array of shape `(Q, N)`, the node at which an option
            ends, counted through all levels in order; -1 for absent options.
    """

    levels: list[TrieLevel]
    leaf: np.ndarray


def build_trie(
    answers: np.ndarray,
    options: np.ndarray,
    eos: int | tuple[int, ...],
    pad: int = 0,
) -> CandidateTrie:
    """Merges the common prefixes of the candidates of a question.

    Candidate lists repeat themselves ("yes", "yes it is", "yes there is"): a
    speaker that has read "yes" once can score all that follows. A list of 100
    real candidates holds about three times fewer distinct prefixes than padded
    words.

    Args:
        answers, options: As of `score_candidates()`. An answer without an end
            token is scored without one.
        eos: Integer, the end token's id, or a tuple of several.
        pad: Integer, the padding's id. Defaults to `0`.

    Raises:
        ValueError: If an option points at an empty answer.

    Example:

    >>> answers = np.array([[5, 2, 0], [5, 7, 2], [6, 2, 0]])
    >>> trie = build_trie(answers, np.array([[0, 1, 2, 0]]), eos=2)
    >>> [level.token.tolist() for level in trie.levels]
    [[5, 6], [7, 2, 2], [2]]
    >>> trie.leaf.tolist()
    [[3, 5, 4, 3]]
    """
    answers, options = np.asarray(answers), np.asarray(options)
    words = ops.sum(reference_mask(answers, eos, pad), axis=-1)
    words = ops.convert_to_numpy(words).astype(int)
    length = np.where(options >= 0, words[options], 0)
    if (length[options >= 0] == 0).any():
        row = options[(options >= 0) & (length == 0)][0]
        raise ValueError(
            "`answers` must hold at least one word in each row that an option "
            f"names. Received: an empty row {row}. Mark absent options by -1."
        )
    question, option = np.nonzero(options >= 0)
    words, ends = answers[options[question, option]], length[question, option]
    leaf = np.full(options.shape, -1)
    levels, node, base = [], question, 0
    for t in range(ends.max(initial=0)):
        level, node = _level(node, words[:, t], ends > t + 1)
        levels.append(level)
        last = ends == t + 1
        leaf[question[last], option[last]] = base + node[last]
        base += len(level.token)
        question, option, node = question[~last], option[~last], node[~last]
        words, ends = words[~last], ends[~last]
    return CandidateTrie(levels, leaf)


def _level(parents, tokens, goes_on):
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
        int(has_children.sum()),
    )
    return level, position[node]
