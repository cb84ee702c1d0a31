"""Memory network encoder."""

import keras
from keras import ops

from tfcap.layers.dialog_encoder import DialogEncoder
from tfcap.ops import masked_softmax
from tfcap.ops.arguments import checked_integer


@keras.saving.register_keras_serializable(package="tfcap")
class MemoryNetworkEncoder(DialogEncoder):
    """Looks up the facts of the history by inner products.

    ```
    v = mean over positions of tanh(image @ Wv)
    query = tanh([lstm(question), v] @ Wq)
    facts = lstm(history rows up to the question's)
    weights = softmax(facts @ query)
    encoding = tanh((query + tanh((weights @ facts) @ Wf)) @ We)
    ```

    Args:
        units: Integer, size of the recurrent states. Defaults to `512`.
        output_units: Integer, size of the encoding, or `None` for `units`.
        dropout: Float, rate of dropout. Defaults to `0.0`.
        return_state: Boolean, whether to return the final state of the
            question's LSTM too. Defaults to `False`.
        return_attention: Boolean, whether to return the weights
            `{"history": (B, R, H)}` too. Defaults to `False`.
        seed: Integer, optional seed of the dropout.

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

    >>> encode = tfcap.layers.MemoryNetworkEncoder(8)
    >>> words, image = np.ones((2, 3, 5, 4)), np.ones((2, 9, 6))
    >>> encode(words, words, image).shape
    TensorShape([2, 3, 8])

    Reference:

    - Das et al., Visual Dialog, CVPR 2017, section 5. The image is the mean
      of its positions.
    """

    attends = ("history",)

    def __init__(self, units=512, **kwargs):
        units = checked_integer(units, "units")
        super().__init__(units=units, **kwargs)
        self.project_query, self.project_fact = (
            keras.layers.Dense(
                units, activation="tanh", dtype=self.dtype_policy, name=name
            )
            for name in ("query", "fact")
        )

    def build(self, question_shape, history_shape, image_shape):
        self.build_inputs(question_shape, history_shape, image_shape)
        self.project_query.build((None, None, 2 * self.units))
        self.project_fact.build((None, None, self.units))
        self.project.build((None, None, self.units))
        self.built = True

    def fuse(self, question, history, image, masks, visible, training):
        asked, state = self.read_question(question, mask=masks[0])
        facts = self.read_history(history, mask=masks[1])
        seen = ops.mean(self.project_image(image), axis=1, keepdims=True)
        seen = ops.broadcast_to(seen, ops.shape(asked))
        query = ops.concatenate([asked, seen], axis=-1)
        query = self.project_query(self.drop(query, training))
        scores = ops.matmul(query, ops.swapaxes(facts, 1, 2))
        rows = masked_softmax(scores, visible)
        fact = self.project_fact(self.drop(ops.matmul(rows, facts), training))
        encoding = self.project(self.drop(query + fact, training))
        return encoding, state, {"history": rows}
