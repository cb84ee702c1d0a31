"""History-conditioned image attentive encoder."""

import keras
from keras import ops

from tfcap.layers.dialog_encoder import DialogEncoder
from tfcap.layers.query_attention import QueryAttention
from tfcap.ops.arguments import checked_integer


@keras.saving.register_keras_serializable(package="tfcap")
class HCIAEEncoder(DialogEncoder):
    """Attends to the history with the question, then to the image with both.

    ```
    mq = lstm(question)                       # (B, R, units)
    mh = attend(query=mq, memory=lstm(history rows up to the question's))
    v = attend(query=[mq, mh], memory=tanh(image @ Wv))
    encoding = tanh([mq, mh, v] @ We)
    ```

    What "it" refers to is looked up in the history first, so that the image
    can be searched for it.

    Args:
        units: Integer, size of the recurrent states and of what is attended.
            Defaults to `512`.
        output_units: Integer, size of the encoding, or `None` for `units`.
        dropout: Float, rate of dropout; 0.5 in the authors' code. Defaults to
            `0.0`.
        return_state: Boolean, whether to return the final state of the
            question's LSTM too. Defaults to `False`.
        return_attention: Boolean, whether to return the weights
            `{"history": (B, R, H), "image": (B, R, P)}` too. Defaults to
            `False`.
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

    >>> encode = tfcap.layers.HCIAEEncoder(8)
    >>> words, image = np.ones((2, 3, 5, 4)), np.ones((2, 9, 6))
    >>> encode(words, words, image).shape
    TensorShape([2, 3, 8])

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.1. The projection
      of the image, and dropout, are the authors' code's.
    """

    attends = ("history", "image")

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
        self.attend_image = QueryAttention(
            units,
            self.query_initializer,
            dtype=self.dtype_policy,
            name="attend_image",
        )

    def build(self, question_shape, history_shape, image_shape):
        self.build_inputs(question_shape, history_shape, image_shape)
        units = self.units
        self.attend_history.build((None, None, units), (None, None, units))
        self.attend_image.build((None, None, 2 * units), (None, None, units))
        self.project.build((None, None, 3 * units))
        self.built = True

    def fuse(self, question, history, image, masks, visible, training):
        asked, state = self.read_question(question, mask=masks[0])
        said = self.read_history(history, mask=masks[1])
        seen = self.drop(self.project_image(image), training)
        said, rows = self.attend_history(asked, said, mask=visible)
        query = self.drop(ops.concatenate([asked, said], axis=-1), training)
        seen, positions = self.attend_image(query, seen)
        fused = ops.concatenate([query, seen], axis=-1)
        encoding = self.project(self.drop(fused, training))
        return encoding, state, {"history": rows, "image": positions}

    def get_config(self):
        return {
            **super().get_config(),
            "query_initializer": keras.initializers.serialize(
                self.query_initializer
            ),
        }
