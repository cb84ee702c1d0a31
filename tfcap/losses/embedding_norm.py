"""Penalty on the norm of embeddings."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import sum_over_replicas
from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_number
from tfcap._ops.sequences import at_least_float32

CONVENTIONS = ("squared", "frobenius")


def embedding_norm(
    embeddings: Any, factor: float = 0.1, convention="squared", mask: Any = None
):
    """Keeps embeddings small, as dot-product losses need.

    ```
    squared   = factor * mean over rows of sum(row ** 2)
    frobenius = factor * sqrt(sum(embeddings ** 2)) / B
    ```

    over the rows that are present. `B` counts entries of the first axis with
    any such row.

    Args:
        embeddings: Float tensor of shape `(B, ..., D)`; each last axis is a
            row.
        factor: Float. Defaults to `0.1`.
        convention: `"squared"`, or `"frobenius"` for the penalty of the
            released code of Lu et al., whose effect on one row falls as the
            batch grows. Defaults to `"squared"`.
        mask: Tensor of shape `(B, ...)`, 0 for absent rows, such as missing
            rounds of a dialog. Defaults to `None`, all present.

    Returns:
        Float scalar tensor, at least float32, of all replicas.

    Example:

    >>> from tfcap.losses.embedding_norm import embedding_norm
    >>> rows = np.array([[3.0, 4.0], [0.0, 0.0]])
    >>> print(embedding_norm(rows, factor=1.0).numpy())
    12.5
    >>> norm = embedding_norm(rows, 1.0, convention="frobenius")
    >>> print(norm.numpy())
    2.5

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.2: "we regularize
      the L2 norm of the embedding vectors to be small"
    """
    check_choice(convention, "convention", CONVENTIONS)
    embeddings = at_least_float32(embeddings)
    if mask is None:
        mask = ops.ones_like(embeddings[..., 0])
    shape = ops.shape(embeddings)[:-1]
    mask = ops.broadcast_to(ops.cast(mask, "bool"), shape)
    # where() rather than a product: what is absent may be infinite.
    embeddings = ops.where(mask[..., None], embeddings, 0)
    squares = ops.sum(ops.square(embeddings), axis=-1)
    total = sum_over_replicas(ops.sum(squares))
    present = ops.cast(mask, squares.dtype)
    if convention == "frobenius" and len(present.shape) > 1:
        present = ops.max(present, axis=tuple(range(1, len(present.shape))))
    count = ops.maximum(sum_over_replicas(ops.sum(present)), 1)
    if convention == "squared":
        return factor * total / count
    # The root has no gradient at zero.
    return factor * ops.sqrt(ops.maximum(total, 1e-24)) / count


@keras.saving.register_keras_serializable(package="tfcap")
class EmbeddingNorm(keras.regularizers.Regularizer):
    """The penalty of `embedding_norm()` as an `activity_regularizer`.

    Keras divides the value of an activity regularizer by the size of the first
    axis. This one returns the penalty times that size, so that
    `embedding_norm()` is added to the loss.

    Args:
        factor: Float. Defaults to `0.1`.
        convention: `"squared"` or `"frobenius"`. Defaults to `"squared"`.

    Call arguments:
        x: Float tensor of shape `(B, ..., D)`.

    Returns:
        Float scalar tensor, `B * embedding_norm(x)`.

    Example:

    >>> norm = tfcap.losses.EmbeddingNorm(factor=1.0)
    >>> layer = keras.layers.Identity(activity_regularizer=norm)
    >>> _ = layer(np.array([[3.0, 4.0], [0.0, 0.0]]))
    >>> print(layer.losses[0].numpy())
    12.5

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.2
    """

    def __init__(self, factor: float = 0.1, convention="squared"):
        check_choice(convention, "convention", CONVENTIONS)
        self.factor = checked_number(
            factor, "factor", "0 or more", lambda x: x >= 0
        )
        self.convention = convention

    def __call__(self, x):
        return self.masked(x, None)

    def masked(self, x: Any, mask: Any):
        """Computes the penalty of the rows that are present.

        Args:
            x: Float tensor of shape `(B, ..., D)`.
            mask: Tensor of shape `(B, ...)`, 0 for absent rows, or `None`.

        Returns:
            Float scalar tensor, `B * embedding_norm(x, mask=mask)`.
        """
        norm = embedding_norm(x, self.factor, self.convention, mask)
        return norm * ops.cast(ops.shape(x)[0], norm.dtype)

    def get_config(self):
        return {"factor": self.factor, "convention": self.convention}
