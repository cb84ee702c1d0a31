"""Memory network encoder."""

import keras
from keras import ops

from tfcap._ops import masked_softmax
from tfcap._ops.arguments import checked_integer
from tfcap._ops.sequences import mean_of_positions
from tfcap.layers.dialog_encoder import DialogEncoder


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
        **kwargs: Those of `DialogEncoder`. With `return_attention`, weights
            are `{"history": (B, R, H)}`.

    Call arguments, Returns:
        As of `DialogEncoder`.

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

    def __init__(self, units: int = 512, **kwargs):
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
        mq, state = self.read_question(question, mask=masks[0])
        facts = self.read_history(history, mask=masks[1])  # (B, H, units)
        v = mean_of_positions(self.project_image(image), masks[2])[:, None]
        v = ops.broadcast_to(v, ops.shape(mq))
        query = ops.concatenate([mq, v], axis=-1)
        query = self.project_query(self.drop(query, training))
        scores = ops.matmul(query, ops.swapaxes(facts, 1, 2))  # (B, R, H)
        weights = masked_softmax(scores, visible)
        fact = ops.matmul(weights, facts)
        fact = self.project_fact(self.drop(fact, training))
        encoding = self.project(self.drop(query + fact, training))
        return encoding, state, {"history": weights}
