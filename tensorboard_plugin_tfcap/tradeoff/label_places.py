"""Places of labels, so that none lies on another."""

import numpy as np

#: Pixels that a figure has at least, and that a letter and a line take.
_PLOT, _LETTER, _HEIGHT, _GAP = (760.0, 420.0), 6.6, 13.0, 8.0
#: In the order in which they are tried: name, and where the middle goes, in
#: halves of the label's size.
_SIDES = (
    ("top right", 1, 1),
    ("bottom left", -1, -1),
    ("top left", -1, 1),
    ("bottom right", 1, -1),
    ("middle right", 1, 0),
    ("middle left", -1, 0),
    ("top center", 0, 1),
    ("bottom center", 0, -1),
)
#: More labels than these nobody reads.
_MOST = 250


def label_places(x, y, texts):
    """Chooses a side of its mark for each label.

    Args:
        x: Float array of shape `(n,)`.
        y: Float array of shape `(n,)`.
        texts: List of `n` strings.

    Returns:
        List of `n` names of sides, as Plotly calls them; `None` where no side
        is free, and the label is better left out.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.label_places import label_places
    >>> label_places(np.array([0, 0, 5]), np.array([0, 0, 5]), ["a"] * 3)
    ['top right', 'bottom left', 'top right']
    """
    x, y = _pixels(x, _PLOT[0]), _pixels(y, _PLOT[1])
    marks = np.stack([x - 3, y - 3, x + 3, y + 3], axis=-1)
    taken = np.empty((0, 4))
    found = []
    for place, text in enumerate(texts):
        side, box = None, None
        if text and len(taken) < _MOST:
            others = np.delete(marks, place, axis=0)
            side, box = _free(
                x[place], y[place], text, np.concatenate([others, taken])
            )
        if side is not None:
            taken = np.concatenate([taken, [box]])
        found.append(side)
    return found


def _free(x, y, text, boxes):
    half = np.array([len(text) * _LETTER, _HEIGHT]) / 2
    for name, right, up in _SIDES:
        # A label in a corner starts beside the mark, one above over it.
        middle = x + right * (half[0] + _GAP / 2), y + up * (half[1] + _GAP / 2)
        low, high = np.subtract(middle, half), np.add(middle, half)
        apart = (
            (boxes[:, 0] > high[0])
            | (boxes[:, 2] < low[0])
            | (boxes[:, 1] > high[1])
            | (boxes[:, 3] < low[1])
        )
        if apart.all():
            return name, [*low, *high]
    return None, None


def _pixels(values, length):
    values = np.asarray(values, "float64")
    wide = np.ptp(values) if values.size else 0
    return (values - values.min()) / wide * length if wide else values * 0
