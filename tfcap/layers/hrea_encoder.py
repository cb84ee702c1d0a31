"""Hierarchical recurrent encoder with attention over the history."""

from typing import Any

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap._ops.sequences import mean_of_positions
from tfcap.layers.dialog_encoder import DialogEncoder
from tfcap.layers.masked_lstm import MaskedLSTM
from tfcap.layers.query_attention import QueryAttention


@keras.saving.register_keras_serializable(package="tfcap")
class HREAEncoder(DialogEncoder):
    """Reads the rounds of a dialog by an LSTM of its own.

    ```
    v = mean over positions of tanh(image @ Wv)
    mq = lstm([word, v] for each word of the question)
    mh = attend(query=mq, memory=lstm(history rows up to the question's))
    state = dialog_lstm([mq, mh], previous round's state)
    encoding = tanh(state @ We)
    ```

    A single question is the only round of its dialog: it has the attended
    history, but no earlier state of the dialog's LSTM.

    Args:
        units: Integer, size of the recurrent states and of what is attended.
            Defaults to `512`.
        query_initializer: Initializer, see `QueryAttention`. Defaults to
            `"glorot_uniform"`.
        **kwargs: Those of `DialogEncoder`. With `return_attention`, weights
            are `{"history": (B, R, H)}`.

    Call arguments, Returns:
        As of `DialogEncoder`.

    Example:

    >>> encode = tfcap.layers.HREAEncoder(8)
    >>> words, image = np.ones((2, 3, 5, 4)), np.ones((2, 9, 6))
    >>> encode(words, words, image).shape
    TensorShape([2, 3, 8])

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, section 5. The attention is the
      additive one of `QueryAttention`, and the image the mean of its
      positions.
    """

    attends = ("history",)

    def __init__(
        self,
        units: int = 512,
        query_initializer: Any = "glorot_uniform",
        **kwargs,
    ):
        units = checked_integer(units, "units")
        super().__init__(units=units, **kwargs)
        self.query_initializer = keras.initializers.get(query_initializer)
        options = {"dtype": self.dtype_policy}
        self.attend_history = QueryAttention(
            units, self.query_initializer, name="attend_history", **options
        )
        self.read_dialog = MaskedLSTM(
            units, return_sequences=True, name="dialog", **options
        )

    def build(self, question_shape, history_shape, image_shape):
        units = self.units
        width = question_shape[-1] + units
        question_shape = (None, None, question_shape[-2], width)
        self.build_inputs(question_shape, history_shape, image_shape)
        self.attend_history.build((None, None, units), (None, None, units))
        self.read_dialog.build((None, None, 2 * units))
        self.project.build((None, None, units))
        self.built = True

    def fuse(self, question, history, image, masks, visible, training):
        v = mean_of_positions(self.project_image(image), masks[2])
        v = v[:, None, None]
        v = self.drop(v, training)
        v = ops.broadcast_to(v, (*ops.shape(question)[:-1], self.units))
        words = ops.concatenate([question, v], axis=-1)  # (B, R, T, E + units)
        mq, state = self.read_question(words, mask=masks[0])
        history = self.read_history(history, mask=masks[1])  # (B, H, units)
        mh, weights = self.attend_history(mq, history, mask=visible)
        fused = self.drop(ops.concatenate([mq, mh], axis=-1), training)
        encoding = self.project(self.drop(self.read_dialog(fused), training))
        return encoding, state, {"history": weights}

    def get_config(self):
        return {
            **super().get_config(),
            "query_initializer": keras.initializers.serialize(
                self.query_initializer
            ),
        }
