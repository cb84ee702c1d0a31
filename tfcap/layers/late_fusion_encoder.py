"""Late fusion encoder."""

import keras
from keras import ops

from tfcap._ops.arguments import checked_integer
from tfcap._ops.sequences import mean_of_positions
from tfcap.layers.dialog_encoder import DialogEncoder
from tfcap.layers.sequence_encoder import SequenceEncoder


@keras.saving.register_keras_serializable(package="tfcap")
class LateFusionEncoder(DialogEncoder):
    """Reads question, history and image apart and joins them at the end.

    ```
    mq = lstm(question)
    mh = lstm(history rows 0 .. r, one after the other, as one text)
    v = mean over positions of tanh(image @ Wv)
    encoding = tanh([mq, mh, v] @ We)
    ```

    The history of all rounds is read once: round `r` takes the state at the
    end of row `r`.

    Args:
        units: Integer, size of the recurrent states. Defaults to `512`.
        **kwargs: Those of `DialogEncoder`; `return_attention` must be `False`,
            for there is none.

    Call arguments, Returns:
        As of `DialogEncoder`.

    Example:

    >>> encode = tfcap.layers.LateFusionEncoder(8)
    >>> words, image = np.ones((2, 3, 5, 4)), np.ones((2, 9, 6))
    >>> encode(words, words, image).shape
    TensorShape([2, 3, 8])

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, section 5. There the image is one
      vector; here it is the mean of its positions.
    """

    def __init__(self, units: int = 512, **kwargs):
        units = checked_integer(units, "units")
        super().__init__(units=units, **kwargs)
        self.read_history = SequenceEncoder(
            units,
            return_sequences=True,
            dtype=self.dtype_policy,
            name="history",
        )

    def build(self, question_shape, history_shape, image_shape):
        self.build_inputs(question_shape, history_shape, image_shape)
        self.project.build((None, None, 3 * self.units))
        self.built = True

    def fuse(self, question, history, image, masks, visible, training):
        mq, state = self.read_question(question, mask=masks[0])
        mh = self._read_rows(history, masks[1])
        if question.shape[1] == 1:
            # A single question reads the text to its end.
            mh = mh[:, -1:]
        v = mean_of_positions(self.project_image(image), masks[2])[:, None]
        v = ops.broadcast_to(v, ops.shape(mq))
        fused = ops.concatenate([mq, mh, v], axis=-1)
        return self.project(self.drop(fused, training)), state, {}

    def _read_rows(self, history, mask):
        """State at the end of each row: `(B, H, T, E)` to `(B, H, units)`."""
        batch, rows, steps, features = ops.shape(history)
        if mask is None:
            mask = ops.ones((batch, rows, steps), dtype="bool")
        states = self.read_history(
            ops.reshape(history, (batch, rows * steps, features)),
            mask=ops.reshape(mask, (batch, rows * steps)),
        )
        # A masked step repeats the state before it, so that a row's last
        # step has the state after the row's last word.
        states = ops.reshape(states, (batch, rows, steps, self.units))
        return states[:, :, -1]
