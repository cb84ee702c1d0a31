"""The trade-off of one method: recall against naturalness."""

import warnings

import numpy as np
from numpy.typing import ArrayLike

from tfcap._printed import printed

#: Which of several crossings counts.
CROSSINGS = ("first", "last", "mean")


class Curve:
    """Recall against naturalness along a parameter, such as lambda.

    A method with several weights of its discriminative loss is a line rather
    than a point: methods are compared at equal naturalness, or equal recall.
    Between neighbors in the parameter, both are interpolated linearly. There
    is no extrapolation: levels that the curve does not reach give NaN, with a
    warning that names its range.

    A curve of noisy points may cross a level several times. The choice of the
    crossing does not depend on its value, since the best of several would grow
    with the noise:

    - `recall_at()` takes the `"last"` one by default, the largest
      discriminative weight at which captions are still so natural;
    - `naturalness_at()` the `"first"` one, the smallest weight that reaches
      the recall.

    `"mean"` averages all of them: more precise if only noise bends the curve,
    and on neither branch if it really bends back.

    Args:
        naturalness: Float array of shape `(n,)`, such as CIDEr-D; more is
            better.
        recall: Float array of shape `(n,)`, in percent or not.
        parameter: Float array of shape `(n,)` that orders the points, from the
            most natural to the most discriminative one. Defaults to their
            given order.

    Raises:
        ValueError: If there is no point, shapes differ, a value is not finite,
            or a parameter is repeated.

    Example:

    >>> curve = tfcap.curves.Curve(
    ...     naturalness=[1.2, 1.1, 0.9],
    ...     recall=[60.0, 70.0, 80.0],
    ...     parameter=[0.5e-3, 1e-3, 5e-3],
    ... )
    >>> round(curve.recall_at(1.0), 6), round(curve.naturalness_at(65.0), 6)
    (75.0, 1.15)

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, section 7: Figure 3, whose tables are "extracted by interpolation".
      The paper does not define the case of several crossings.
    """

    __repr__ = printed

    def __init__(
        self,
        naturalness: ArrayLike,
        recall: ArrayLike,
        parameter: ArrayLike | None = None,
    ):
        naturalness = _values("naturalness", naturalness)
        recall = _values("recall", recall)
        if parameter is None:
            parameter = np.arange(naturalness.size)
        parameter = _values("parameter", parameter)
        if not naturalness.size == recall.size == parameter.size > 0:
            raise ValueError(
                "`naturalness`, `recall` and `parameter` must have one shape "
                "(n,), n > 0. Received: n of "
                f"{naturalness.size}, {recall.size} and {parameter.size}."
            )
        if np.unique(parameter).size < parameter.size:
            raise ValueError(
                "`parameter` must order the points. Received: parameter="
                f"{parameter.tolist()}, in which a value is repeated. Make a "
                "curve for each method, seed and other setting."
            )
        order = np.argsort(parameter)
        self.naturalness = naturalness[order]
        self.recall = recall[order]
        self.parameter = parameter[order]

    def recall_at(self, naturalness: float, crossing: str = "last") -> float:
        """Returns the recall at a level of naturalness.

        Args:
            naturalness: Float.
            crossing: `"first"`, `"last"` or `"mean"`, in the order of the
                parameter. Defaults to `"last"`.

        Returns:
            Float, NaN with a warning where the curve does not go.
        """
        return self._read("naturalness", naturalness, crossing)

    def naturalness_at(self, recall: float, crossing: str = "first") -> float:
        """Returns the naturalness at a level of recall.

        Args:
            recall: Float.
            crossing: `"first"`, `"last"` or `"mean"`, in the order of the
                parameter. Defaults to `"first"`.

        Returns:
            Float, NaN with a warning where the curve does not go.
        """
        return self._read("recall", recall, crossing)

    def crossings(
        self, naturalness: float | None = None, recall: float | None = None
    ) -> np.ndarray:
        """Returns all points of the curve at a level, ordered by parameter.

        Args:
            naturalness: Float; or
            recall: Float. One of the two.

        Returns:
            Float array of shape `(c, 2)` of naturalness and recall, without
            rows if the curve does not reach the level.

        Example:

        >>> curve = tfcap.curves.Curve([0.9, 1.1, 0.9], [50.0, 60.0, 80.0])
        >>> print(curve.crossings(naturalness=1.0))
        [[ 1. 55.]
         [ 1. 70.]]
        """
        points = np.stack([self.naturalness, self.recall], axis=-1)
        axis, level = (0, naturalness) if recall is None else (1, recall)
        side = np.sign(points[:, axis] - level)
        found = []
        for place, point in enumerate(points):
            if side[place] == 0:
                found.append(point)
            elif place + 1 < len(points) and side[place] * side[place + 1] < 0:
                gap = points[place + 1] - point
                share = (level - point[axis]) / gap[axis]
                between = point + share * gap
                # Not a rounding error beside it.
                between[axis] = level
                found.append(between)
        return np.array(found).reshape(-1, 2)

    def area(
        self,
        low: float | None = None,
        high: float | None = None,
        crossing: str = "last",
    ) -> float:
        """Computes the area under the recall between two values of naturalness.

        ```
        integral of recall_at(x) over x from low to high
        ```

        exactly, without a grid. Divided by `high - low` it is the mean recall
        of the range, a comparison that does not depend on one level.

        Args:
            low: Float. Defaults to the smallest naturalness of the curve.
            high: Float. Defaults to the largest one.
            crossing: String, as in `recall_at()`. Defaults to `"last"`.

        Returns:
            Float, in units of recall times naturalness; NaN with a warning
            if the curve does not cover the range.

        Raises:
            ValueError: If `low` is greater than `high`.

        Example:

        >>> tfcap.curves.Curve([1.0, 2.0], [70.0, 50.0]).area()
        60.0
        """
        least, most = self.naturalness.min(), self.naturalness.max()
        low = least if low is None else low
        high = most if high is None else high
        if low > high:
            raise ValueError(
                "`low` must not be greater than `high`. Received: "
                f"low={low}, high={high}."
            )
        if low < least or high > most:
            _warn("naturalness", f"{low:.6g} to {high:.6g}", least, most)
            return float("nan")
        inner = self.naturalness[
            (self.naturalness > low) & (self.naturalness < high)
        ]
        edges = np.unique([low, *inner, high])
        # Between two edges, recall is linear: its middle is its mean.
        middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
        return float(
            sum(
                width * self.recall_at(middle, crossing)
                for middle, width in zip(middles, widths)
            )
        )

    def __len__(self) -> int:
        return self.naturalness.size

    def _read(self, given, level, crossing):
        if crossing not in CROSSINGS:
            raise ValueError(
                f"`crossing` must be one of {', '.join(CROSSINGS)}. Received: "
                f"crossing={crossing!r}."
            )
        found = self.crossings(**{given: level})
        if not len(found):
            values = getattr(self, given)
            _warn(given, f"{level:.6g}", values.min(), values.max())
            return float("nan")
        values = found[:, 1 if given == "naturalness" else 0]
        if crossing == "mean":
            return float(values.mean())
        return float(values[-1 if crossing == "last" else 0])


def _values(name, values):
    values = np.array(values, "float64")
    if values.ndim != 1:
        raise ValueError(
            f"`{name}` must have a shape (n,). Received: shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"`{name}` must be finite. Received: {name}={values.tolist()}. "
            "Leave out a point that could not be measured, and report it "
            "separately."
        )
    return values


def _warn(name, wanted, least, most):
    warnings.warn(
        f"The curve has no {name} of {wanted}: it goes from {least:.6g} to "
        f"{most:.6g}, without extrapolation. The result is NaN.",
        stacklevel=4,
    )


def pareto_front(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Returns the indices of the points that no other point dominates.

    Args:
        x: Float array of shape `(n,)`; higher is better. Negate values for
            which lower is better.
        y: Float array of shape `(n,)`.

    Returns:
        Integer array of the indices for which no other point is as good in
        both and better in one; the best in `x` first.

    Example:

    >>> from tfcap.curves.curve import pareto_front
    >>> pareto_front([1.0, 1.2, 0.8], [70.0, 75.0, 80.0])
    array([1, 2])
    """
    x, y = np.asarray(x, "float64"), np.asarray(y, "float64")
    as_good = (x >= x[:, None]) & (y >= y[:, None])
    better = (x > x[:, None]) | (y > y[:, None])
    places = np.flatnonzero(~(as_good & better).any(axis=1))
    return places[np.lexsort((-y[places], -x[places]))]
