"""Hierarchical recurrent encoder with attention over the history."""

import keras
from keras import ops

from tfcap.layers.dialog_encoder import DialogEncoder
from tfcap.layers.masked_lstm import MaskedLSTM
from tfcap.layers.query_attention import QueryAttention
from tfcap.ops.arguments import checked_integer


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
        output_units: Integer, size of the encoding, or `None` for `units`.
        dropout: Float, rate of dropout. Defaults to `0.0`.
        return_state: Boolean, whether to return the final state of the
            question's LSTM too. Defaults to `False`.
        return_attention: Boolean, whether to return the weights
            `{"history": (B, R, H)}` too. Defaults to `False`.
        seed: Integer, optional seed of the dropout.
        query_initializer: Initializer, see `QueryAttention`. Defaults to
            `"glorot_uniform"`.

    Call arguments:
        question: Float tensor of embedded words, `(B, R, T, E)` or
            `(B, T, E)`.
        history: Float tensor of embedded words, `(B, H, T, E)`.
        image: Float tensor of shape `(B, P, D)`.
        question_mask: Tensor of shape `(B, R, T)` or `(B, T)`.
        history_mask: Tensor of shape `(B, H, T)`.
        training: Boolean, whether to drop out.

    Returns:
        Float tensor of shape `(B, R, output_units)` or `(B, output_units)`;
        with `return_state` or `return_attention` a tuple of that and these.

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

    def __init__(self, units=512, query_initializer="glorot_uniform", **kwargs):
        units = checked_integer(units, "units")
        super().__init__(units=units, **kwargs)
        self.query_initializer = keras.initializers.get(query_initializer)
        self.attend_history = QueryAttention(
            units,
            self.query_initializer,
            dtype=self.dtype_policy,
            name="attend_history",
        )
        self.read_dialog = MaskedLSTM(
            units,
            return_sequences=True,
            dtype=self.dtype_policy,
            name="dialog",
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
        seen = ops.mean(self.project_image(image), axis=1)[:, None, None]
        seen = self.drop(seen, training)
        seen = ops.broadcast_to(seen, (*ops.shape(question)[:-1], self.units))
        asked = ops.concatenate([question, seen], axis=-1)
        asked, state = self.read_question(asked, mask=masks[0])
        said = self.read_history(history, mask=masks[1])
        said, rows = self.attend_history(asked, said, mask=visible)
        fused = self.drop(ops.concatenate([asked, said], axis=-1), training)
        encoding = self.project(self.drop(self.read_dialog(fused), training))
        return encoding, state, {"history": rows}

    def get_config(self):
        return {
            **super().get_config(),
            "query_initializer": keras.initializers.serialize(
                self.query_initializer
            ),
        }
