"""Queue of embeddings of earlier batches."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import gather_across_replicas
from tfcap._ops.arguments import checked_integer


@keras.saving.register_keras_serializable(package="tfcap")
class CrossBatchMemory(keras.layers.Layer):
    """Remembers embeddings of earlier batches, as negatives of later ones.

    A dual encoder of small batches has few negatives. Embeddings drift slowly:
    those of the last steps are negatives nearly as good, without gradient, and
    cost no forward pass.

    ```
    memory = tfcap.losses.CrossBatchMemory(4096)
    listener = RetrievalListener(..., memory=memory)
    listener.compile("adam", loss=BidirectionalContrastiveLoss(memory=memory))
    ```

    The listener calls it on what it returns, so that it is saved with the
    listener, and knows whether this trains; the loss reads it and then puts
    the rows of its batch in the place of the oldest ones. In `evaluate()` it is
    neither read nor written. Under `tf.distribute` it holds the rows of all
    replicas, in their order.

    An image that is met again is told from others by the labels of the loss;
    without labels, give fewer rows than there are images.

    Args:
        size: Integer `N`, rows that are remembered, each of an image and its
            texts.

    Call arguments:
        embeddings: Float tensor of shape `(B, 1 + S, D)`, of every row the
            embedding of its image, then of its texts.
        training: Boolean, whether the loss reads and writes the memory.

    Returns:
        The embeddings.

    Example:

    >>> memory = tfcap.losses.CrossBatchMemory(3)
    >>> rows = memory(np.ones((2, 2, 4), "float32"), training=True)
    >>> memory.enqueue(rows, np.array([7, 8]))
    >>> print(memory.entries()["numbers"].numpy())
    [ 7  8 -1]

    Reference:

    - Wang et al., Cross-Batch Memory for Embedding Learning, CVPR 2020
    - He et al., Momentum Contrast for Unsupervised Visual Representation
      Learning, CVPR 2020, section 3.2, for the queue; its momentum encoder
      is not needed where embeddings drift slowly.
    """

    def __init__(self, size: int, **kwargs):
        kwargs.setdefault("autocast", False)
        super().__init__(**kwargs)
        self.size = checked_integer(size, "size")

    def build(self, input_shape):
        if len(input_shape) != 3 or None in input_shape[1:]:
            raise ValueError(
                "`embeddings` must have a known number of texts and units: the "
                "memory has room for them. Received: shape="
                f"{tuple(input_shape)}. Pad the captions of an image to a "
                "fixed number."
            )

        def held(name, shape, dtype="int32", initializer="zeros"):
            return self.add_weight(
                shape=shape,
                initializer=initializer,
                dtype=dtype,
                trainable=False,
                autocast=False,
                aggregation="only_first_replica",
                name=name,
            )

        self.embeddings = held(
            "embeddings", (self.size, *input_shape[1:]), "float32"
        )
        self.numbers = held(
            "numbers", (self.size,), initializer=keras.initializers.Constant(-1)
        )
        self.in_use = held("in_use", ())
        self.built = True

    def call(self, embeddings, training=False):
        self.in_use.assign(ops.cast(bool(training), "int32"))
        return embeddings

    def entries(self) -> dict[str, Any]:
        """Reads what is remembered, the latest first.

        Returns:
            Dict of `images` `(N, D)`, `texts` `(N, S, D)`, `numbers` `(N,)`,
            and `mask` `(N, S)`, which texts there are: none where nothing is
            remembered yet, and none at all where nothing trains.
        """
        if not self.built:
            raise ValueError(
                "`memory` must be called by the model that trains. Received: "
                "memory=CrossBatchMemory without shape. Give the same object "
                "to the listener: `RetrievalListener(..., memory=memory)`."
            )
        held = ops.stop_gradient(ops.convert_to_tensor(self.embeddings))
        texts = held[:, 1:]
        mask = ops.any(ops.not_equal(texts, 0), axis=-1)
        return {
            "images": held[:, 0],
            "texts": texts,
            "numbers": ops.convert_to_tensor(self.numbers),
            "mask": ops.logical_and(mask, self.in_use > 0),
        }

    def enqueue(self, embeddings: Any, numbers: Any = None) -> None:
        """Puts rows in the place of the oldest ones, where this trains.

        Args:
            embeddings: Float tensor of shape `(B, 1 + S, D)`.
            numbers: Integer tensor of shape `(B,)`, of the images; or `None`.
        """
        if numbers is None:
            numbers = ops.full_like(embeddings[:, 0, 0], -1)
        for variable, rows in (
            (self.embeddings, embeddings),
            (self.numbers, numbers),
        ):
            rows = ops.cast(ops.stop_gradient(rows), variable.dtype)
            rows = gather_across_replicas(rows)
            rows = ops.concatenate([rows, variable], axis=0)[: self.size]
            rows = ops.reshape(rows, variable.shape)
            variable.assign(ops.where(self.in_use > 0, rows, variable))

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "size": self.size}
