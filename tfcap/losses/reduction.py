"""How the values of a loss become a number, in one place."""

import keras
from keras import ops

from tfcap.ops import sum_over_replicas

MEANS = ("mean", "sum_over_batch_size")
REDUCTIONS = (None, "none", "sum", *MEANS, "mean_with_sample_weight")


def reduce_loss(values, present=None, weights=None, reduction="mean"):
    """Reduces a loss over the entries that are present.

    ```
    sum                     = sum(weights * values)
    mean                    = sum(weights * values) / count(present)
    mean_with_sample_weight = sum(weights * values) / sum(weights)
    ```

    all over present entries. Under `tf.distribute` a mean's denominator is
    counted over all replicas and its numerator is this replica's share: summed
    over replicas, as Keras' optimizer sums gradients, the shares are the exact
    mean of the global batch, however absent entries fall on replicas.

    Args:
        values: Float tensor.
        present: Tensor that broadcasts to `values`, nonzero where a value
            counts, or `None`.
        weights: Float tensor that broadcasts to `values`, or `None`.
        reduction: `None`, `"none"`, `"sum"`, `"mean"`, its Keras synonym
            `"sum_over_batch_size"`, or `"mean_with_sample_weight"`.

    Returns:
        Float scalar tensor, 0 where nothing is present; without a reduction, a
        tensor of the shape of `values`, 0 where absent.

    Raises:
        ValueError: If `reduction` is none of these.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"`reduction` must be one of {REDUCTIONS}. "
            f"Received: reduction={reduction!r}."
        )
    keep = ops.ones_like(values)
    if present is not None:
        keep = keep * ops.cast(ops.cast(present, "bool"), values.dtype)
    # where() rather than a product: what is absent may be infinite.
    values = ops.where(keep > 0, values, 0)
    if weights is not None:
        weights = ops.cast(weights, values.dtype)
        values = values * weights
    if reduction in (None, "none"):
        return values
    total = ops.sum(values)
    if reduction == "sum":
        return total
    if weights is not None and reduction not in MEANS:
        keep = keep * weights
    divisor = ops.stop_gradient(sum_over_replicas(ops.sum(keep)))
    return ops.divide_no_nan(total, divisor)


def at_least_float32(tensor):
    """Casts half precision and integers up; leaves float64 alone.

    Args:
        tensor: Tensor or array.

    Returns:
        Float32 or float64 tensor.
    """
    tensor = ops.convert_to_tensor(tensor)
    wide = keras.backend.result_type(tensor.dtype, "float32")
    return ops.cast(tensor, wide)
