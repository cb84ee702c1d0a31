"""The points that no other point beats."""

import numpy as np


def pareto_front(x, y):
    """The places of the points that no other point beats.

    Args:
        x: Float array of shape `(n,)`; more is better. Turn the sign of what
            should be small.
        y: Float array of shape `(n,)`.

    Returns:
        Integer array of the places for which none is as good in both and
        better in one; the best in `x` first.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.front import pareto_front
    >>> pareto_front([1.0, 1.2, 0.8], [70.0, 75.0, 80.0])
    array([1, 2])
    """
    x, y = np.asarray(x, "float64"), np.asarray(y, "float64")
    as_good = (x >= x[:, None]) & (y >= y[:, None])
    better = (x > x[:, None]) | (y > y[:, None])
    places = np.flatnonzero(~(as_good & better).any(axis=1))
    return places[np.lexsort((-y[places], -x[places]))]
