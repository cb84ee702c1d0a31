"""Summaries of independent runs: a center and its interval."""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tfcap._printed import printed

#: Names of centers, and what each is of many.
CENTERS = {
    "mean": "means",
    "median": "medians",
    "iqm": "interquartile means",
}
#: Names of the bounds of a center.
BOUNDS = ("student", "bootstrap", "range")


class Interval(NamedTuple):
    """An estimate and the bounds of its interval.

    Args:
        mean: Float, the estimate.
        low: Float.
        high: Float.
    """

    __repr__ = printed

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Aggregate:
    """Center of the values of several runs, with its bounds.

    - `"student"`: Student's interval of the mean,
      `mean +- t(1 - (1 - level) / 2, n - 1) * std / sqrt(n)`;
    - `"bootstrap"`: percentiles of the centers of `samples` draws of n runs
      with replacement, the same draws for every n values;
    - `"range"`: the minimum and the maximum.

    Args:
        center: `"mean"`, `"median"`, or `"iqm"`, the mean of the middle half
            of the sorted values. Defaults to `"mean"`.
        bounds: String, as above. Defaults to `"student"`, for means only.
        level: Float in `(0, 1)`, of intervals. Defaults to `0.95`.
        samples: Integer, number of draws. Defaults to `2000`.
        seed: Integer, of the draws. Defaults to `0`.

    Raises:
        ValueError: If an argument is unknown, or Student's interval is
            requested for another center than the mean.

    Example:

    >>> aggregate = Aggregate("median", "range")
    >>> print(np.round(aggregate([1.0, 2.0, 9.0]), 3))
    [2. 1. 9.]

    Reference:

    - Agarwal et al., Deep Reinforcement Learning at the Edge of the
      Statistical Precipice, NeurIPS 2021, section 4.3. If the number of values
      is not divisible by four, the outer ones of the middle half count in
      part; the authors' code cuts whole values, so that for three values it is
      the mean.
    """

    center: str = "mean"
    bounds: str = "student"
    level: float = 0.95
    samples: int = 2000
    seed: int = 0

    def __post_init__(self):
        for name, options in (("center", CENTERS), ("bounds", BOUNDS)):
            if getattr(self, name) not in options:
                raise ValueError(
                    f"`{name}` must be one of {', '.join(options)}. Received: "
                    f"{name}={getattr(self, name)!r:.40}."
                )
        if not 0.0 < self.level < 1.0:
            raise ValueError(
                f"`level` must be in (0, 1). Received: level={self.level}."
            )
        if self.samples < 1:
            raise ValueError(
                "`samples` must be at least 1, preferably 1,000 or more. "
                f"Received: samples={self.samples!r}."
            )
        if self.bounds == "student" and self.center != "mean":
            raise ValueError(
                "`bounds` must be 'bootstrap' or 'range' if the center is not "
                f"the mean. Received: bounds={self.bounds!r}, "
                f"center={self.center!r}."
            )

    def __call__(self, values: ArrayLike | Iterable[float]) -> Interval:
        """Returns center and bounds; for one value, the bounds are infinite.

        Args:
            values: Float array of shape `(n,)`, one value per run.

        Returns:
            `Interval`.

        Raises:
            ValueError: If there are no values.
        """
        values = np.asarray(values, "float64").ravel()
        if not values.size:
            raise ValueError("`values` must not be empty. Received: values=[].")
        center, low, high = self.columns(values[:, None])
        return Interval(float(center[0]), float(low[0]), float(high[0]))

    def columns(self, values: np.ndarray) -> np.ndarray:
        """Returns centers and bounds of columns.

        Args:
            values: Float array of shape `(n, m)`, a row per run.

        Returns:
            Float array of shape `(3, m)`: centers, lower and upper bounds.
        """
        n = len(values)
        center = _center(self.center, values)
        if n == 1:
            wide = np.full_like(center, math.inf)
            return np.stack([center, -wide, wide])
        if self.bounds == "range":
            return np.stack([center, values.min(axis=0), values.max(axis=0)])
        if self.bounds == "student":
            error = values.std(axis=0, ddof=1) / math.sqrt(n)
            half = student_t_quantile(0.5 + self.level / 2, n - 1) * error
            return np.stack([center, center - half, center + half])
        drawn = _draws(n, self.samples, self.seed)
        ends = [0.5 - self.level / 2, 0.5 + self.level / 2]
        # A column at a time: all at once would be large.
        bounds = [
            np.quantile(_center(self.center, column[drawn].T), ends)
            for column in values.T
        ]
        return np.stack([center, *np.transpose(bounds)])

    @property
    def centers(self) -> str:
        """Returns the name of the centers, such as `"means"`."""
        return CENTERS[self.center]

    @property
    def words(self) -> str:
        """Returns a description of the bounds."""
        if self.bounds == "range":
            return "least and greatest run"
        name = self.centers.removesuffix("s")
        if self.bounds == "student":
            return f"{100 * self.level:g} % interval of the {name}"
        return (
            f"{100 * self.level:g} % interval of the {name} by the percentile "
            f"bootstrap ({self.samples} draws, seed {self.seed})"
        )


def mean_interval(values: ArrayLike) -> Interval:
    """Computes Student's confidence interval of the mean of independent runs.

    ```
    mean +- t(0.975, n - 1) * std / sqrt(n)
    ```

    For few seeds: at n = 3 it is more than twice as wide as a normal one.

    Args:
        values: Float array of shape `(n,)`, one value per run.

    Returns:
        `Interval`. For one run, the bounds are infinite.

    Raises:
        ValueError: If there are no values.

    Example:

    >>> interval = tfcap.curves.mean_interval([1.0, 2.0, 3.0])
    >>> print(np.round(interval, 3))
    [ 2.    -0.484  4.484]
    """
    return Aggregate()(values)


def _center(name, values):
    """Returns the centers of the columns of an array of shape `(n, m)`."""
    if name == "mean":
        return values.mean(axis=0)
    if name == "median":
        return np.median(values, axis=0)
    # Sorted values are steps of width 1 / n: those of the middle half count
    # as far as they lie in it.
    edges = np.linspace(0.0, 1.0, len(values) + 1)
    inside = np.clip(edges, 0.25, 0.75)
    weights = 2 * np.diff(inside)
    return weights @ np.sort(values, axis=0)


@functools.lru_cache(maxsize=32)
def _draws(n, samples, seed):
    """Draws of n runs, of shape `(samples, n)`."""
    return np.random.default_rng(seed).integers(n, size=(samples, n))


def student_t_quantile(probability: float, freedom: int) -> float:
    """Computes a quantile of Student's t distribution, without SciPy.

    Args:
        probability: Float in `[0.5, 1)`.
        freedom: Integer, degrees of freedom.

    Returns:
        Float.

    Example:

    >>> from tfcap.curves.aggregate import student_t_quantile
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
