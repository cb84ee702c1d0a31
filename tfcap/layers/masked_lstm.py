"""LSTM that is fast on padded sequences."""

import keras
from keras import ops

from tfcap.layers.packed_lstm import packed_lstm

# Above this many steps the graph of an unrolled recurrence is slow to build.
LONGEST_UNROLLED = 32


@keras.saving.register_keras_serializable(package="tfcap")
class MaskedLSTM(keras.layers.LSTM):
    """`keras.layers.LSTM` that does not compute what the mask hides.

    Weights, arguments, results and gradients are those of
    `keras.layers.LSTM`; only the way there differs, with TensorFlow and a
    mask:

    - on CPU, up to 32 steps, step `t` runs on the sequences that have a
      `t`-th word (see `packed_lstm()`), which saves what the padding costs:
      two thirds of the time on dialog questions;
    - otherwise the words of each sequence are moved to its front and the
      steps that no sequence reaches are dropped. Padding may then stand
      anywhere and rows may be empty, which cuDNN by itself refuses.

    On other backends, and with dropout inside the cell, it is Keras' own
    layer.

    Call arguments:
        sequences: Float tensor of shape `(B, T, D)`.
        mask: Tensor of shape `(B, T)`, nonzero where there is a word.
        initial_state: List of two tensors of shape `(B, units)`.
        training: Boolean.

    Returns:
        As `keras.layers.LSTM`: `(B, units)`, or `(B, T, units)` with
        `return_sequences=True`, and the final state with `return_state=True`.
        A row that is masked throughout gives zeros and its initial state.

    Example:

    >>> lstm = tfcap.layers.MaskedLSTM(4)
    >>> words = np.random.normal(size=(1, 3, 2))
    >>> left = lstm(words[:, [0, 0, 1]], mask=np.array([[0, 1, 1]]))
    >>> right = lstm(words, mask=np.array([[1, 1, 0]]))
    >>> bool(np.allclose(left, right, atol=1e-6))
    True
    """

    def __init__(self, units, **kwargs):
        super().__init__(units, **kwargs)
        # Packed shapes depend on the data, which XLA does not take.
        self.supports_jit = keras.backend.backend() != "tensorflow"

    def inner_loop(self, sequences, initial_state, mask, training=False):
        if isinstance(mask, list | tuple):
            mask = mask[0]
        noisy = training and (self.dropout or self.recurrent_dropout)
        if (
            mask is None
            or keras.backend.backend() != "tensorflow"
            or noisy
            or self.go_backwards
            or self.unroll
        ):
            return super().inner_loop(sequences, initial_state, mask, training)
        if _packs(sequences.shape[1]):
            return packed_lstm(
                self.cell, sequences, mask, initial_state, self.return_sequences
            )
        return self._trimmed(sequences, initial_state, mask, training)

    def _trimmed(self, sequences, initial_state, mask, training):
        mask = ops.cast(mask, "bool")
        width = ops.shape(mask)[1]
        count = ops.cumsum(ops.cast(mask, "int32"), axis=1)
        length = count[:, -1]
        # At least one step a row: cuDNN refuses empty sequences.
        steps = ops.arange(ops.maximum(ops.max(length), 1))
        column = ops.arange(width)[None]
        front = ops.argsort(ops.where(mask, column, width + column), axis=1)
        front = ops.take(front, steps, axis=1)
        short = ops.take_along_axis(sequences, front[..., None], axis=1)
        short_mask = steps[None] < ops.maximum(length, 1)[:, None]
        last, outputs, state = super().inner_loop(
            short, initial_state, short_mask, training
        )
        some = length[:, None] > 0
        last = ops.where(some, last, 0)
        state = [ops.where(some, a, b) for a, b in zip(state, initial_state)]
        if not self.return_sequences:
            return last, last, state
        place = ops.maximum(count - 1, 0)[..., None]
        outputs = ops.take_along_axis(outputs, place, axis=1)
        return last, ops.where(count[..., None] > 0, outputs, 0), state


def _packs(width):
    import tensorflow as tf

    # On GPU one cuDNN call beats many small kernels.
    return (
        width is not None
        and width <= LONGEST_UNROLLED
        and not tf.config.list_logical_devices("GPU")
    )
