"""Interval of a mean."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Interval(NamedTuple):
    """An estimate and the bounds of its interval.

    Args:
        mean: Float, the estimate.
        low: Float.
        high: Float.
    """

    mean: float
    low: float
    high: float


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Student's interval of the mean of independent runs.

    ```
    mean +- t(1 - (1 - level) / 2, n - 1) * std / sqrt(n)
    ```

    For the few seeds a method is trained with: at n = 3 it is more than
    twice as wide as a normal one.

    Args:
        values: Float array of shape `(n,)`, one value per run.
        level: Float in `(0, 1)`. Defaults to `0.95`.

    Returns:
        `Interval`. Of one run, the bounds are infinite.

    Raises:
        ValueError: If there are no values, or `level` is outside `(0, 1)`.

    Example:

    >>> interval = tfcap.curves.mean_interval([1.0, 2.0, 3.0])
    >>> print(np.round(interval, 3))
    [ 2.    -0.484  4.484]
    """
    check_level(level)
    values = np.asarray(values, "float64").ravel()
    if not values.size:
        raise ValueError("`values` must not be empty. Received: values=[].")
    mean = float(values.mean())
    if values.size == 1:
        return Interval(mean, -math.inf, math.inf)
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    half = student_t_quantile(0.5 + level / 2, values.size - 1) * error
    return Interval(mean, mean - half, mean + half)


def student_t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's t distribution, without SciPy.

    Args:
        probability: Float in `[0.5, 1)`.
        freedom: Integer, degrees of freedom.

    Returns:
        Float.

    Example:

    >>> from tfcap.curves.intervals import student_t_quantile
    >>> print(round(student_t_quantile(0.975, 4), 4))
    2.7764

    Reference:

    - Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3-4
    """
    low, high = 0.0, math.pi / 2
    for _ in range(100):
        angle = (low + high) / 2
        below = _t_cumulative(angle, freedom) < probability
        low, high = (angle, high) if below else (low, angle)
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _t_cumulative(angle, freedom):
    """P(t < sqrt(freedom) * tan(angle)), a finite series."""
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term = total = (cosine if odd else 1.0) * (freedom > 1)
    for i in range(2 + odd, freedom - 1, 2):
        term *= (i - 1) / i * cosine**2
        total += term
    central = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return 0.5 + central / 2


def check_level(level):
    """Raises unless `level` is in (0, 1)."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` must be in (0, 1). Received: level={level}.")
