"""LSTM that is fast on padded sequences."""

import keras

from tfcap.layers._fast.recurrence import MaskedRecurrence
from tfcap.layers._fast.recurrence import lstm_cell


@keras.saving.register_keras_serializable(package="tfcap")
class MaskedLSTM(MaskedRecurrence, keras.layers.LSTM):
    """`keras.layers.LSTM` that does not compute what the mask hides.

    Weights, arguments, results and gradients are those of
    `keras.layers.LSTM`; only the algorithm differs, with TensorFlow and a
    mask:

    - on CPU, up to 32 steps, step `t` runs on the sequences that have a
      `t`-th word, which saves what the padding costs: two thirds of the time
      on dialog questions;
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

    def packed_cell(self):
        return lstm_cell(self.cell)
