"""The control of what the image is worth: every dialog with another's."""

import numpy as np

from tfcap.data.mapped_features import feature_rows


def other_images(features, dialogs, seed=0):
    """Features in which every dialog has the image of another dialog.

    A network that looks at images ranks worse with these. Each image is used
    once, and none by its own dialog.

    Args:
        features: As `tfcap.data.DialogBatches` takes them, of M dialogs.
        dialogs: Integer, M, at least 2.
        seed: Integer. Defaults to `0`.

    Returns:
        Function from rows `(B,)` to features `(B, P, D)`.

    Raises:
        ValueError: If there is no other dialog.

    Example:

    >>> from reproduce.visdial.other_images import other_images
    >>> features = np.arange(2.0)[:, None, None]
    >>> other_images(features, 2)(np.array([0, 1])).ravel()
    array([1., 0.], dtype=float32)
    """
    if dialogs < 2:
        raise ValueError(
            "`dialogs` must be at least 2, so that there is another image. "
            f"Received: dialogs={dialogs}. Take more dialogs."
        )
    # One cycle through all dialogs in random order has no fixed point.
    order = np.random.default_rng(seed).permutation(dialogs)
    other = np.empty_like(order)
    other[order] = np.roll(order, 1)
    return lambda rows: feature_rows(features, other[np.asarray(rows)])
