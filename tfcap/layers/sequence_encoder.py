"""LSTM encoder of word sequences with any number of leading axes."""

from typing import Any

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap.layers.masked_lstm import MaskedLSTM


@keras.saving.register_keras_serializable(package="tfcap")
class SequenceEncoder(keras.layers.Layer):
    """Reads embedded words and returns the state after the last one.

    The state is that after the last *word*: padding may stand before, after
    or between the words and changes nothing. A sequence without words gives
    zeros.

    Args:
        units: Integer, size of the state.
        return_sequences: Boolean, whether to return the output at every step
            rather than after the last. Defaults to `False`.
        return_state: Boolean, whether to return the final state too.
            Defaults to `False`.

    Call arguments:
        inputs: Float tensor of shape `(..., T, D)`, such as `(B, T, D)` or
            `(B, R, T, D)`.
        mask: Tensor of shape `(..., T)`, nonzero where there is a word. The
            mask of a `SoftEmbedding` arrives by itself.
        initial_state: List of two tensors of shape `(..., units)`. Defaults to
            zeros.

    Returns:
        Float tensor of shape `(..., units)`, or `(..., T, units)` with
        `return_sequences=True`. With `return_state=True` a pair of that and
        `[h, c]`, each of shape `(..., units)`.

    Example:

    >>> embed = tfcap.layers.SoftEmbedding(vocabulary_size=9, units=4)
    >>> encode = tfcap.layers.SequenceEncoder(6)
    >>> encode(embed(np.array([[[1, 2, 0], [3, 0, 0]]]))).shape
    TensorShape([1, 2, 6])
    """

    def __init__(
        self,
        units: int,
        return_sequences: bool = False,
        return_state: bool = False,
        **kwargs,
    ):
        units = checked_integer(units, "units")
        super().__init__(**kwargs)
        self.units = units
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.supports_masking = True
        self.lstm = MaskedLSTM(
            units,
            return_sequences=return_sequences,
            return_state=True,
            dtype=self.dtype_policy,
            name="lstm",
        )

    @property
    def cell(self) -> keras.layers.LSTMCell:
        """The `keras.layers.LSTMCell`, for a decoder that shares it."""
        return self.lstm.cell

    def step(self, inputs: Any, state: list) -> tuple[Any, list]:
        """Reads one word.

        Args:
            inputs: Float tensor of shape `(B, D)`.
            state: List of two tensors of shape `(B, units)`.

        Returns:
            Pair of the output, of shape `(B, units)`, and the next state.
        """
        output, state = self.cell(inputs, state)
        return output, list(state)

    def build(self, input_shape):
        if len(input_shape) < 3:
            raise ValueError(
                "`inputs` must have shape (..., T, D) with at least one axis "
                f"before the steps. Received: shape={tuple(input_shape)}."
            )
        self.lstm.build((None, *input_shape[-2:]))
        self.built = True

    def call(self, inputs, mask=None, initial_state=None):
        if len(inputs.shape) == 3:
            output, *state = self.lstm(
                inputs, mask=mask, initial_state=initial_state
            )
            return (output, state) if self.return_state else output
        *lead, steps, features = ops.shape(inputs)
        if mask is not None:
            mask = ops.reshape(mask, (-1, steps))
        if initial_state is not None:
            initial_state = [
                ops.reshape(x, (-1, self.units)) for x in initial_state
            ]
        output, *state = self.lstm(
            ops.reshape(inputs, (-1, steps, features)),
            mask=mask,
            initial_state=initial_state,
        )
        tail = (steps, self.units) if self.return_sequences else (self.units,)
        output = ops.reshape(output, (*lead, *tail))
        if not self.return_state:
            return output
        return output, [ops.reshape(x, (*lead, self.units)) for x in state]

    def compute_mask(self, inputs, mask=None):
        return mask if self.return_sequences and not self.return_state else None

    def compute_output_shape(self, input_shape):
        state = (*input_shape[:-2], self.units)
        output = (*input_shape[:-1], self.units)
        output = output if self.return_sequences else state
        return (output, [state, state]) if self.return_state else output

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
        }
