"""History-conditioned image attentive encoder."""

from typing import Any

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap.layers.dialog_encoder import DialogEncoder
from tfcap.layers.query_attention import QueryAttention


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
        query_initializer: Initializer, see `QueryAttention`. Defaults to
            `"glorot_uniform"`.
        **kwargs: Those of `DialogEncoder`. With `return_attention`, weights
            are `{"history": (B, R, H), "image": (B, R, P)}`.

    Call arguments, Returns:
        As of `DialogEncoder`.

    Example:

    >>> encode = tfcap.layers.HCIAEEncoder(8)
    >>> words, image = np.ones((2, 3, 5, 4)), np.ones((2, 9, 6))
    >>> encode(words, words, image).shape
    TensorShape([2, 3, 8])

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.1. The projection
      of the image, and dropout, which has a rate of 0.5 there, are the
      authors' code's.
    """

    attends = ("history", "image")

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
        self.attend_image = QueryAttention(
            units, self.query_initializer, name="attend_image", **options
        )

    def build(self, question_shape, history_shape, image_shape):
        self.build_inputs(question_shape, history_shape, image_shape)
        units = self.units
        self.attend_history.build((None, None, units), (None, None, units))
        self.attend_image.build((None, None, 2 * units), (None, None, units))
        self.project.build((None, None, 3 * units))
        self.built = True

    def fuse(self, question, history, image, masks, visible, training):
        mq, state = self.read_question(question, mask=masks[0])
        history = self.read_history(history, mask=masks[1])  # (B, H, units)
        image = self.drop(self.project_image(image), training)
        mh, history_weights = self.attend_history(mq, history, mask=visible)
        query = self.drop(ops.concatenate([mq, mh], axis=-1), training)
        v, image_weights = self.attend_image(query, image, memory_mask=masks[2])
        fused = ops.concatenate([query, v], axis=-1)  # (B, R, 3 * units)
        encoding = self.project(self.drop(fused, training))
        weights = {"history": history_weights, "image": image_weights}
        return encoding, state, weights

    def get_config(self):
        return {
            **super().get_config(),
            "query_initializer": keras.initializers.serialize(
                self.query_initializer
            ),
        }
