"""Recurrences over words, step by step or in a loop of the graph."""

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tfcap._ops.private_names import layers_of
from tfcap._ops.private_names import seed_generators

#: Steps above which a graph of every step is slow to build: on JAX, which
#: compiles each of them, more than one.
LONGEST_UNROLLED = 32 if keras.backend.backend() == "tensorflow" else 1


def each_word(
    step: Callable,
    state: Any,
    words: Any,
    dtype: str = "float32",
    unroll: bool | None = None,
    network: Any = None,
) -> Any:
    """Runs a recurrence over words, step by step or in a loop of the graph.

    Args:
        step, state, words, dtype, network: As of `scan_words()`. Step by step,
            the shapes of the state may change, and `dtype` does not matter.
        unroll: Boolean, whether every step is a part of the graph. Defaults to
            `None`: for at most 32 steps, or if the state changes its shapes.

    Returns:
        Tensor of shape `(n, T, ...)`, the outputs of all steps.

    Example:

    >>> from tfcap._ops.loops import each_word
    >>> total = each_word(
    ...     lambda x, state: (state + x, state + x),
    ...     np.zeros(1, "float32"),
    ...     np.ones((1, 40), "float32"),
    ... )
    >>> print(total[0, ::13].numpy())
    [ 1. 14. 27. 40.]
    """
    length = words.shape[1]
    if length is None:
        return scan_words(step, state, words, dtype, network)
    if unroll is None:
        unroll = length <= LONGEST_UNROLLED
    columns, start = [], 0
    if not unroll:
        # The first step tells whether the state keeps its shapes.
        first, after = step(words[:, 0], state)
        if same_shapes(state, after):
            first = ops.cast(first, dtype)[:, None]
            rest = scan_words(step, after, words[:, 1:], dtype, network)
            return ops.concatenate([first, rest], axis=1)
        columns, start, state = [first], 1, after
    for word in ops.unstack(words, length, axis=1)[start:]:
        column, state = step(word, state)
        columns.append(column)
    return ops.stack(columns, axis=1)


def same_shapes(before: Any, after: Any, free: int = 0) -> bool:
    """Returns whether two nests of tensors have the same static shapes.

    The first `free` axes may be of any size.
    """
    before, after = map(keras.tree.flatten_with_path, (before, after))
    if [path for path, _ in before] != [path for path, _ in after]:
        return False
    return all(
        len(x.shape) == len(y.shape)
        and all(
            m == n or None in (m, n)
            for m, n in zip(x.shape[free:], y.shape[free:])
        )
        for (_, x), (_, y) in zip(before, after)
    )


def scan_words(
    step: Callable,
    state: Any,
    words: Any,
    dtype: str = "float32",
    network: Any = None,
) -> Any:
    """Runs a recurrence over words in a loop of the graph, with gradient.

    A step is traced once, and the number of words may be unknown.

    Args:
        step: Callable from the words of a step, `(n, ...)`, and the state to
            an output `(n, ...)` and the next state.
        state: Nest of tensors with leading axis `n`, of constant shapes.
        words: Tensor of shape `(n, T, ...)`.
        dtype: String, of the output.
        network: `keras.layers.Layer` whose random numbers `step` draws, or
            `None`.

    Returns:
        Tensor of shape `(n, T, ...)`, the outputs of all steps.

    Raises:
        ValueError: If `step` returns a state of other shapes.

    Example:

    >>> from tfcap._ops.loops import scan_words
    >>> total = scan_words(
    ...     lambda x, state: (state + x, state + x),
    ...     np.zeros(1, "float32"),
    ...     np.array([[1.0, 2.0, 3.0]], "float32"),
    ... )
    >>> print(total.numpy())
    [[1. 3. 6.]]
    """
    if keras.backend.backend() != "tensorflow":
        return _scan(step, state, words, dtype, network)
    import tensorflow as tf

    words = tf.convert_to_tensor(words)
    state = keras.tree.map_structure(tf.convert_to_tensor, state)
    length, first = tf.shape(words)[1], keras.tree.flatten(state)
    # Of every leaf, all axes but that of rows stay.
    shapes = [tf.TensorShape([None, *leaf.shape[1:]]) for leaf in first]
    columns = tf.TensorArray(words.dtype, length, infer_shape=False)
    columns = columns.unstack(tf.einsum("nt...->tn...", words))
    rows = tf.TensorShape([None, *words.shape[2:]])

    def body(t, leaves, outputs):
        word = tf.ensure_shape(columns.read(t), rows)
        before = keras.tree.pack_sequence_as(state, leaves)
        output, after = step(word, before)
        _check_kept(before, after)
        leaves = [
            tf.ensure_shape(tf.cast(leaf, old.dtype), shape)
            for leaf, old, shape in zip(
                keras.tree.flatten(after), first, shapes
            )
        ]
        return t + 1, leaves, outputs.write(t, tf.cast(output, dtype))

    _, _, outputs = tf.while_loop(
        lambda t, *_: t < length,
        body,
        (tf.constant(0), first, tf.TensorArray(dtype, length)),
        shape_invariants=(tf.TensorShape([]), shapes, tf.TensorShape(None)),
        maximum_iterations=length,
    )
    return tf.einsum("tn...->nt...", outputs.stack())


def _scan(step, state, words, dtype, network):
    """Runs `scan_words()` on backends that know the number of words."""

    def body(before, word):
        output, after = step(word, before)
        after = keras.tree.map_structure(
            lambda x, y: ops.cast(x, y.dtype), after, before
        )
        return after, ops.cast(output, dtype)

    state = keras.tree.map_structure(ops.convert_to_tensor, state)
    words = ops.moveaxis(words, 1, 0)
    _, outputs = scan(body, state, words, SameDraws(network))
    return ops.moveaxis(outputs, 0, 1)


def scan(step: Callable, carried: Any, inputs: Any, draws: Any) -> tuple:
    """Runs `keras.ops.scan()`, with random generators that go on.

    Args:
        step, carried, inputs: As of `keras.ops.scan()`.
        draws: `SameDraws` of the generators of which `step` draws.
    """

    def body(kept, each):
        carried, seen = kept
        draws.assign(seen)
        carried, output = step(carried, each)
        return (carried, draws.now()), output

    (carried, seen), outputs = ops.scan(body, (carried, draws.now()), inputs)
    draws.assign(seen)
    return carried, outputs


class SameDraws:
    """Keeps the state of a network's random generators, to draw again.

    A speaker that reads the same words twice in training has other masks of
    dropout the second time. Within `again()` they are those that came after
    this object was made; afterwards the network goes on as if nothing had been
    drawn there. Networks that are no Keras layers draw new numbers.

    Args:
        network: `keras.layers.Layer`, or any other object.
        generators: Seed generators of others.
    """

    def __init__(self, network: Any, *generators: Any):
        every = [seed_generators(layer) for layer in layers_of(network)]
        # A generator may belong to several layers.
        every = {id(x): x for x in itertools.chain(generators, *every)}
        self.states = [generator.state for generator in every.values()]
        self.before = self.now()

    @contextlib.contextmanager
    def again(self):
        """Context in which the network draws the numbers once more."""
        after = self.now()
        self.assign(self.before)
        try:
            yield
        finally:
            self.assign(after)

    def now(self) -> list:
        """Returns the states."""
        return [ops.copy(state) for state in self.states]

    def assign(self, values: list) -> None:
        """Sets the states."""
        for state, value in zip(self.states, values):
            state.assign(value)


def _check_kept(before, after):
    """Rejects states whose shapes change from step to step."""
    if same_shapes(before, after):
        return
    shapes = [
        keras.tree.map_structure(lambda x: x.shape, tree)
        for tree in (before, after)
    ]
    raise ValueError(
        "The number of words T must be known while a graph is traced for a "
        "speaker whose state grows with every word. Received: states of "
        f"shapes {shapes[0]} and then {shapes[1]}. Pad captions to a fixed "
        "length, such as by `padded_shapes` of `padded_batch()`."
    )
