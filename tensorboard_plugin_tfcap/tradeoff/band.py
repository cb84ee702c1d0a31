"""The band around a mean curve."""

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.intervals import student_t_quantile

#: Steps between two neighbors on a curve.
_STEPS = 6


def line_band(curves, places, level=0.95):
    """The outline of where the mean curve may run.

    Seeds are interpolated between neighbors in the parameter, and their mean
    has an interval in both directions there: an ellipse. The band is what
    these ellipses sweep over, drawn to both sides of the mean curve, so it is
    right whichever way the curve runs.

    Args:
        curves: Dict of `Curve` by seed.
        places: Float array of shape `(n,)`, the parameter's values, ascending.
        level: Float in `(0, 1)`. Defaults to `0.95`.

    Returns:
        Float array of shape `(m, 2)`, a closed outline, or `None` where fewer
        than two seeds or places are shared by all.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import band
    >>> curves = {s: tfcap.metrics.Curve([2, 1], [s, 3 + s]) for s in (0, 1)}
    >>> outline = band.line_band(curves, np.array([0.0, 1.0]))
    >>> outline.shape, np.allclose(outline[0], outline[-1])
    ((15, 2), True)
    """
    shared = [
        place
        for place in places
        if all((c.parameter == place).any() for c in curves.values())
    ]
    if len(curves) < 2 or len(shared) < 2:
        return None
    fine = np.interp(
        np.linspace(0, len(shared) - 1, _STEPS * (len(shared) - 1) + 1),
        np.arange(len(shared)),
        shared,
    )
    seeds = np.stack(
        [
            np.stack(
                [
                    np.interp(fine, c.parameter, c.naturalness),
                    np.interp(fine, c.parameter, c.recall),
                ],
                axis=-1,
            )
            for c in curves.values()
        ]
    )
    middle, count = seeds.mean(axis=0), len(curves)
    wide = student_t_quantile(0.5 + level / 2, count - 1)
    half = wide * seeds.std(axis=0, ddof=1) / np.sqrt(count)
    # In units in which both directions are as long as each other.
    scale = np.maximum(np.ptp(seeds, axis=(0, 1)), 1e-12)
    along = np.gradient(middle / scale, axis=0)
    length = np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    normal = np.stack([-along[:, 1], along[:, 0]], axis=-1) / length
    reach = np.linalg.norm(normal * half / scale, axis=1, keepdims=True)
    aside = normal * reach * scale
    outline = np.concatenate([middle + aside, (middle - aside)[::-1]])
    return np.concatenate([outline, outline[:1]])
