"""Vectors of length 1."""

from keras import ops


def unit_vectors(vectors, epsilon=1e-7):
    """Scales vectors to length 1; what has no length has no gradient.

    Args:
        vectors: Float tensor of shape `(..., D)`.
        epsilon: Float, length up to which a vector becomes zeros. Defaults to
            `1e-7`.

    Returns:
        Float32 tensor of the same shape.
    """
    vectors = ops.cast(vectors, "float32")
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    some = squares > epsilon**2
    # The root has no gradient at 0, and near it one without bound.
    return ops.where(some, vectors * ops.rsqrt(ops.where(some, squares, 1)), 0)
