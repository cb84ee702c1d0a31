"""What makes a recurrent layer fast on padded sequences."""

import keras
from keras import ops

from tfcap.ops.arguments import checked_integer

# Above this many steps the graph of an unrolled recurrence is slow to build.
LONGEST_UNROLLED = 32


class MaskedRecurrence:
    """Mixin of Keras' recurrent layers: does not compute what is masked.

    - On CPU, up to 32 steps, step `t` runs on the sequences that have a
      `t`-th word (see `packed_recurrence()`), which saves what the padding
      costs.
    - Otherwise the words of each sequence are moved to its front and the
      steps that no sequence reaches are dropped. Padding may then stand
      anywhere and rows may be empty, which cuDNN by itself refuses.

    On other backends, without a mask, and with dropout inside the cell, the
    layer is Keras' own. To use it, override `packed()`.
    """

    def __init__(self, units, **kwargs):
        units = checked_integer(units, "units")
        super().__init__(units, **kwargs)
        # Packed shapes depend on the data, which XLA does not take.
        self.supports_jit = keras.backend.backend() != "tensorflow"

    def packed(self, sequences, mask, initial_state):
        """Returns last output, outputs and state, of the words alone."""
        raise NotImplementedError

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
            found = self.packed(sequences, mask, initial_state)
        else:
            found = self._trimmed(sequences, initial_state, mask, training)
        return self._zeroed(found, mask) if self.zero_output_for_mask else found

    def _zeroed(self, found, mask):
        """Outputs that are 0 under the mask, rather than those before it."""
        last, outputs, state = found
        there = ops.cast(mask, "bool")[..., None]
        last = ops.where(there[:, -1], last, 0)
        if not self.return_sequences:
            return last, last, state
        return last, ops.where(there, outputs, 0), state

    def _trimmed(self, sequences, initial_state, mask, training):
        mask = ops.cast(mask, "bool")
        width = ops.shape(mask)[1]
        count = ops.cumsum(ops.cast(mask, "int32"), axis=1)
        length = count[:, -1]
        # At least one step a row: cuDNN refuses empty sequences.
        longest = ops.maximum(ops.max(length), 1)
        steps = ops.arange(longest, dtype="int32")
        column = ops.arange(width, dtype="int32")[None]
        front = ops.argsort(ops.where(mask, column, width + column), axis=1)
        front = ops.take(front, steps, axis=1)
        short = ops.take_along_axis(sequences, front[..., None], axis=1)
        short_mask = steps[None] < ops.maximum(length, 1)[:, None]
        _, outputs, state = super().inner_loop(
            short, initial_state, short_mask, training
        )
        some = length[:, None] > 0
        # Not Keras' last output, which `zero_output_for_mask` may set to 0.
        last = ops.where(some, state[0], 0)
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
