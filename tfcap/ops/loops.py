"""Words whose number is not known: loops of the graph, ragged tensors."""

from collections.abc import Callable
from typing import Any

import keras


def scan_words(
    step: Callable, state: Any, words: Any, dtype: str = "float32"
) -> Any:
    """Runs a recurrence over words, also where their number is unknown.

    A loop of TensorFlow's graph, with gradient. Where the number is known, the
    same in Python is faster; on other backends it always is known.

    Args:
        step: Callable from the words of a step, `(n, ...)`, and the state to
            an output `(n, ...)` and the next state.
        state: Nest of tensors with leading axis `n`, whose shapes stay.
        words: Tensor of shape `(n, T, ...)`.
        dtype: String, of the output.

    Returns:
        Tensor of shape `(n, T, ...)`, the outputs of all steps.

    Raises:
        ValueError: If `step` returns a state of other shapes.

    Example:

    >>> from tfcap.ops.loops import scan_words
    >>> total = scan_words(
    ...     lambda x, state: (state + x, state + x),
    ...     np.zeros(1, "float32"),
    ...     np.array([[1.0, 2.0, 3.0]], "float32"),
    ... )
    >>> print(total.numpy())
    [[1. 3. 6.]]
    """
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


def dense(tensor: Any, pad: int = 0) -> Any:
    """Pads a ragged tensor of ids, such as one of `ragged_batch()`.

    Args:
        tensor: Any object; what is no `tf.RaggedTensor` stays as it is.
        pad: Integer.

    Returns:
        Tensor, or the object.

    Raises:
        TypeError: If it is a ragged tensor of floats.
    """
    if not hasattr(tensor, "ragged_rank"):
        return tensor
    if not tensor.dtype.is_integer:
        raise TypeError(
            "`inputs` must not hold ragged floats, whose padding nothing "
            f"would tell. Received: a RaggedTensor of {tensor.dtype.name}. "
            "Pad them by `padded_batch()`, with `image_mask` beside images."
        )
    return tensor.to_tensor(default_value=pad)


def _check_kept(before, after):
    """Refuses states whose shapes change from step to step."""
    shapes = [
        keras.tree.map_structure(lambda x: x.shape, tree)
        for tree in (before, after)
    ]
    flat = [keras.tree.flatten(tree) for tree in (before, after)]
    same = len(flat[0]) == len(flat[1]) and all(
        old.shape.is_compatible_with(new.shape) for old, new in zip(*flat)
    )
    if not same:
        raise ValueError(
            "`T`, the number of words, must be known while a graph is traced "
            "for a speaker whose state grows with every word. Received: "
            f"states of shapes {shapes[0]} and then {shapes[1]}. Pad to a "
            "fixed number, such as by `padded_shapes` of `padded_batch()`."
        )
