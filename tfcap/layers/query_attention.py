"""Additive attention of queries to a memory."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import masked_softmax
from tfcap._ops.arguments import checked_integer


@keras.saving.register_keras_serializable(package="tfcap")
class QueryAttention(keras.layers.Layer):
    """Attends to a memory with every query, by an additive score.

    ```
    z = tanh(memory @ Wm + query @ Wq + b) @ wa      # per query and entry
    weights = softmax(z)                             # over the memory
    output = weights @ memory
    ```

    Query and memory may differ in size, which `keras.layers.AdditiveAttention`
    does not allow, and the memory is projected once for all queries.

    Args:
        units: Integer, size of the hidden layer of the score.
        query_initializer: Initializer of the query's projection. A query that
            is small beside the memory, as the state of an LSTM is, at first
            hardly moves the score; one of a few times the usual variance
            shortens what it takes to learn where to look. Defaults to
            `"glorot_uniform"`.

    Call arguments:
        query: Float tensor of shape `(B, Q, Dq)`.
        memory: Float tensor of shape `(B, M, Dm)`.
        mask: Tensor that broadcasts to `(B, Q, M)`, nonzero where a query may
            look.
        memory_mask: Tensor of shape `(B, M)`, nonzero where there is an entry.
        projected: Float tensor of shape `(B, M, units)`, of
            `project_memory(memory)`, to attend to one memory many times.
            Projected here if left out.

    Returns:
        Pair of the attended memory, of shape `(B, Q, Dm)`, and the weights, of
        shape `(B, Q, M)`. Both are zero for a query that may look nowhere.

    Example:

    >>> attend = tfcap.layers.QueryAttention(8)
    >>> output, weights = attend(np.ones((2, 3, 4)), np.ones((2, 5, 6)))
    >>> output.shape, weights.shape
    (TensorShape([2, 3, 6]), TensorShape([2, 3, 5]))

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, equations 1 and 2. As in the
      authors' code the hidden layer has a bias, which the paper leaves out.
    """

    def __init__(
        self,
        units: int,
        query_initializer: Any = "glorot_uniform",
        **kwargs,
    ):
        units = checked_integer(units, "units")
        super().__init__(**kwargs)
        self.units = units
        self.query_initializer = keras.initializers.get(query_initializer)
        self.supports_masking = True
        options = {"dtype": self.dtype_policy}
        self.project_query = keras.layers.Dense(
            units,
            kernel_initializer=self.query_initializer,
            name="query",
            **options,
        )
        self.project_memory = keras.layers.Dense(
            units, use_bias=False, name="memory", **options
        )
        self.score = keras.layers.Dense(
            1, use_bias=False, name="score", **options
        )

    def build(self, query_shape, memory_shape):
        self.project_query.build(query_shape)
        self.project_memory.build(memory_shape)
        self.score.build((*query_shape[:-1], self.units))
        self.built = True

    def call(self, query, memory, mask=None, memory_mask=None, projected=None):
        if memory_mask is not None:
            memory_mask = ops.cast(memory_mask, "bool")[:, None]
            mask = (
                memory_mask
                if mask is None
                else ops.logical_and(ops.cast(mask, "bool"), memory_mask)
            )
        if projected is None:
            projected = self.project_memory(memory)
        # (B, Q, M, units)
        hidden = ops.tanh(
            projected[:, None] + self.project_query(query)[:, :, None]
        )
        weights = masked_softmax(self.score(hidden)[..., 0], mask)
        return ops.matmul(weights, memory), weights

    def compute_mask(self, query, mask=None):
        return None

    def compute_output_shape(self, query_shape, memory_shape):
        weights = (*query_shape[:-1], memory_shape[-2])
        return (*query_shape[:-1], memory_shape[-1]), weights

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "query_initializer": keras.initializers.serialize(
                self.query_initializer
            ),
        }
