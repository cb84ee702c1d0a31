"""GRU that is fast on padded sequences."""

import keras

from tfcap.layers._fast.recurrence import MaskedRecurrence
from tfcap.layers._fast.recurrence import gru_cell


@keras.saving.register_keras_serializable(package="tfcap")
class MaskedGRU(MaskedRecurrence, keras.layers.GRU):
    """`keras.layers.GRU` that does not compute what the mask hides.

    Weights, arguments, results and gradients are those of
    `keras.layers.GRU`; the algorithm is that of `tfcap.layers.MaskedLSTM`.
    It needs the default `reset_after=True`.

    Call arguments, Returns:
        As of `tfcap.layers.MaskedLSTM`, with a state of one tensor.

    Example:

    >>> gru = tfcap.layers.MaskedGRU(4)
    >>> words = np.random.normal(size=(1, 3, 2))
    >>> left = gru(words[:, [0, 0, 1]], mask=np.array([[0, 1, 1]]))
    >>> right = gru(words, mask=np.array([[1, 1, 0]]))
    >>> bool(np.allclose(left, right, atol=1e-6))
    True
    """

    def __init__(self, units: int, **kwargs):
        if not kwargs.get("reset_after", True):
            raise ValueError(
                "`reset_after` must be `True` for MaskedGRU. Received: "
                "reset_after=False. Use keras.layers.GRU."
            )
        super().__init__(units, **kwargs)

    def packed_cell(self):
        return gru_cell(self.cell)
