"""The trade-off of one method: recall against naturalness."""

import warnings

import numpy as np
from numpy.typing import ArrayLike

from tfcap._printed import printed

#: Which of several crossings is read off.
CROSSINGS = ("first", "last", "mean")


class Curve:
    """Recall against naturalness along a parameter, such as lambda.

    A method that is trained with several weights of its discriminative loss is
    no point but a line: methods are compared where they are as natural as each
    other, or as discriminative. Between two neighbors in the parameter, both
    are interpolated linearly, together. Nothing is read off beyond the points:
    what no mixture of neighbors reaches is NaN, with a warning that tells how
    far the curve goes.

    A curve of noisy points may cross a level several times. Which crossing
    counts never depends on the value that is read off there, since the best of
    several would grow with the noise:

    - `recall_at()` takes the `"last"` one by default, the strongest
      discriminative weight at which captions are still so natural;
    - `naturalness_at()` the `"first"` one, the weakest weight with which the
      recall is reached.

    `"mean"` averages all of them: a little closer where only noise makes a
    curve waver, and on no branch at all where it really bends back.

    Args:
        naturalness: Float array of shape `(n,)`, such as CIDEr-D; more is
            better.
        recall: Float array of shape `(n,)`, in percent or not.
        parameter: Float array of shape `(n,)`, by which the points are
            ordered, from the most natural to the most discriminative end. The
            order that they are given in by default.

    Raises:
        ValueError: If there is no point, shapes differ, or a value is not
            finite or a parameter there twice.

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
      What happens where a curve crosses twice is not said there.
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
        """Recall where the captions are as natural as asked.

        Args:
            naturalness: Float.
            crossing: `"first"`, `"last"` or `"mean"`, in the order of the
                parameter. Defaults to `"last"`.

        Returns:
            Float, NaN with a warning where the curve does not go.
        """
        return self._read("naturalness", naturalness, crossing)

    def naturalness_at(self, recall: float, crossing: str = "first") -> float:
        """Naturalness where the recall is as asked.

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
        """All points of the line at a level, in the order of the parameter.

        Args:
            naturalness: Float; or
            recall: Float. One of the two.

        Returns:
            Float array of shape `(c, 2)` of naturalness and recall, without
            rows where the curve does not go.

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
        """Area under the recall between two values of naturalness.

        ```
        integral of recall_at(x) over x from low to high
        ```

        exactly, not on a grid. Divided by `high - low` it is the mean recall
        of that range, a comparison that does not hang on one level.

        Args:
            low: Float, the least naturalness of the curve by default.
            high: Float, the greatest by default.
            crossing: String, as of `recall_at()`. Defaults to `"last"`.

        Returns:
            Float, in units of recall times naturalness; NaN with a warning
            where the curve does not cover the range.

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
            "A point that could not be measured is a finding of its own: "
            "report it apart."
        )
    return values


def _warn(name, wanted, least, most):
    warnings.warn(
        f"The curve has no {name} of {wanted}: it goes from {least:.6g} to "
        f"{most:.6g}, and nothing is extrapolated. The result is NaN.",
        stacklevel=4,
    )


def pareto_front(x: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Indices of the points that no other point beats.

    Args:
        x: Float array of shape `(n,)`; more is better. Turn the sign of what
            should be small.
        y: Float array of shape `(n,)`.

    Returns:
        Integer array of the indices for which none is as good in both and
        better in one; the best in `x` first.

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
