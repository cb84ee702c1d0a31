"""Intervals of a mean and of the difference of two."""

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


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    groups: ArrayLike,
    level: float = 0.95,
    samples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Bootstrap interval of the mean difference of two systems, by group.

    The rounds of a dialog are not independent, so whole groups are drawn with
    replacement, the same ones for both systems.

    Args:
        a: Float array of shape `(n,)`, a value per item of one system.
        b: Float array of shape `(n,)`, of the other, on the same items.
        groups: Array of shape `(n,)`, each item's group, such as its dialog.
        level: Float in `(0, 1)`. Defaults to `0.95`.
        samples: Integer, number of draws. Defaults to `2000`.
        seed: Integer. Defaults to `0`.

    Returns:
        `Interval` of `mean(a) - mean(b)`, by percentiles. The systems differ
        at this level if 0 lies outside. Of one group, the bounds are
        infinite.

    Raises:
        ValueError: If the arrays differ in shape or are empty, `level` is
            outside `(0, 1)`, or `samples` is below 1.

    Example:

    >>> a, b = np.array([0.9, 0.8, 0.7, 0.9]), np.array([0.5, 0.6, 0.4, 0.3])
    >>> interval = tfcap.curves.paired_bootstrap(a, b, groups=[0, 0, 1, 1])
    >>> print(np.round(interval, 3))
    [0.375 0.3   0.45 ]
    """
    check_level(level)
    check_samples(samples)
    a, b = np.asarray(a, "float64"), np.asarray(b, "float64")
    groups = np.asarray(groups)
    if not (a.shape == b.shape == groups.shape == (a.size,)) or not a.size:
        raise ValueError(
            "`a`, `b` and `groups` must have one shape (n,), n > 0. Received: "
            f"a.shape={a.shape}, b.shape={b.shape}, "
            f"groups.shape={groups.shape}."
        )
    _, index = np.unique(groups, return_inverse=True)
    sums, sizes = np.bincount(index, weights=a - b), np.bincount(index)
    mean = float((a - b).mean())
    if len(sums) == 1:
        return Interval(mean, -math.inf, math.inf)
    rng = np.random.default_rng(seed)
    means = np.empty(samples)
    # One draw at a time: all at once would not fit for large splits.
    for i in range(samples):
        drawn = rng.integers(len(sums), size=len(sums))
        means[i] = sums[drawn].sum() / sizes[drawn].sum()
    low, high = np.quantile(means, [0.5 - level / 2, 0.5 + level / 2])
    return Interval(mean, float(low), float(high))


def student_t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's t distribution, without SciPy.

    Args:
        probability: Float in `[0.5, 1)`.
        freedom: Integer, degrees of freedom.

    Returns:
        Float.

    Example:

    >>> print(round(tfcap.curves.student_t_quantile(0.975, 4), 4))
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


def check_samples(samples):
    """Raises unless there is a draw."""
    if samples < 1:
        raise ValueError(
            "`samples` must be at least 1, better 1,000 draws and more. "
            f"Received: samples={samples!r}."
        )
