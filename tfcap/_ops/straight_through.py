"""Straight-through estimator."""

from typing import Any

from keras import ops


def straight_through(hard: Any, soft: Any) -> Any:
    """Emits `hard` and differentiates as `soft`.

    ```
    output = hard + (soft - stop_gradient(soft))
    ```

    Args:
        hard: Float tensor, the value to emit. Its own gradient is kept, so
            wrap it in `keras.ops.stop_gradient()` if it should have none.
        soft: Float tensor of the same shape, the value to differentiate.

    Returns:
        Tensor of the shape of `hard`, exactly equal to it.

    Example:

    >>> hard, soft = np.array([0.0, 1.0]), np.array([0.4, 0.6])
    >>> print(tfcap._ops.straight_through(hard, soft).numpy())
    [0. 1.]

    Reference:

    - Bengio et al., Estimating or Propagating Gradients Through Stochastic
      Neurons for Conditional Computation, 2013, section 4
    """
    return hard + (soft - ops.stop_gradient(soft))
