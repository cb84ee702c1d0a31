"""Hypervolume: a trade-off of several measures as one number."""

import numpy as np
from numpy.typing import ArrayLike


def hypervolume(points: ArrayLike, reference: ArrayLike) -> float:
    """Volume of all that some point beats, down to a reference point.

    ```
    volume of the union of the boxes [reference, point]
    ```

    exactly: a point's box, without what later points cover of it.

    Args:
        points: Float array of shape `(n, d)`; more is better. Turn the sign of
            what should be small.
        reference: Float array of shape `(d,)`, the worst that counts. A point
            that is not better in everything adds nothing.

    Returns:
        Float, in the product of the measures' units.

    Raises:
        ValueError: If shapes do not fit, or a value is not finite.

    Example:

    >>> tfcap.curves.hypervolume([[2.0, 1.0], [1.0, 3.0]], [0.0, 0.0])
    4.0

    Reference:

    - While, Bradstreet and Barone, A Fast Way of Calculating Exact
      Hypervolumes, IEEE TEC 2012: the exclusive volumes of Algorithm 2
    """
    points = np.asarray(points, "float64")
    reference = np.asarray(reference, "float64")
    if points.ndim != 2 or reference.shape != points.shape[1:]:
        raise ValueError(
            "`points` must have a shape (n, d), `reference` (d,). Received: "
            f"points.shape={points.shape}, reference.shape={reference.shape}."
        )
    if not (np.isfinite(points).all() and np.isfinite(reference).all()):
        raise ValueError(
            "`points` and `reference` must be finite. Received: "
            f"reference={reference.tolist()}, points={points.tolist()}."
        )
    # Edges of boxes, (n, d)
    edges = points - reference
    return _volume(_front(edges[(edges > 0).all(axis=1)]))


def _volume(edges):
    if not len(edges):
        return 0.0
    if edges.shape[1] == 1:
        return float(edges.max())
    # The widest first, so that later boxes are soon covered.
    edges = edges[np.lexsort(edges.T)[::-1]]
    if edges.shape[1] == 2:
        # A front: as the second rises, the first falls.
        across, up = edges[::-1].T
        return float(across @ np.diff(up, prepend=0.0))
    total = 0.0
    for place, edge in enumerate(edges):
        covered = np.minimum(edges[place + 1 :], edge)
        total += edge.prod() - _volume(_front(covered))
    return float(total)


def _front(points):
    """Distinct points that no other is as good as in everything."""
    points = np.unique(points, axis=0)
    as_good = (points[None] >= points[:, None]).all(axis=-1)
    return points[as_good.sum(axis=1) == 1]
