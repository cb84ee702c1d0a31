"""Places of labels beside marks: none on a mark, on another or outside."""

from tensorboard_plugin_tfcap.drawing.text_size import text_width

#: Sides of a mark, and where the label's middle goes, in halves of its size.
_SIDES = {
    "top right": (1, -1),
    "bottom left": (-1, 1),
    "top left": (-1, -1),
    "bottom right": (1, 1),
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top center": (0, -1),
    "bottom center": (0, 1),
}


def place_labels(labels, taken, frame, size, font):
    """Chooses a place for each label.

    Args:
        labels: List of tuples of `x`, `y`, text, and the side that is tried
            first.
        taken: List of boxes (left, top, right, bottom) that stay free.
        frame: Box that no label leaves.

    Returns:
        List of pairs of left and baseline, `None` where no side is free.
    """
    taken, places = list(taken), []
    for x, y, text, side in labels:
        wide, high = text_width(text, size, font), 1.05 * size
        for name in dict.fromkeys((side, *_SIDES)):
            right, down = _SIDES.get(name, (0, 0))
            middle_x = x + right * (wide / 2 + 0.35 * size)
            # In a corner, it starts beside the mark.
            middle_y = y + down * (high / 2 + 0.25 * size)
            box = (
                *(middle_x - wide / 2, middle_y - high / 2),
                *(middle_x + wide / 2, middle_y + high / 2),
            )
            if _inside(box, frame) and not any(_meet(box, t) for t in taken):
                taken.append(box)
                places.append((box[0], box[3] - 0.24 * size))
                break
        else:
            places.append(None)
    return places


def mark_box(mark):
    """The box of a mark, a little smaller than itself."""
    half = 0.42 * mark.size
    return mark.x - half, mark.y - half, mark.x + half, mark.y + half


def text_box(text, font):
    """The box of a line of text."""
    wide = text_width(text.text, text.size, font)
    left = (
        text.x - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor]
    )
    return left, text.y - 0.8 * text.size, left + wide, text.y + 0.2 * text.size


def _meet(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _inside(box, frame):
    return (
        box[0] >= frame[0]
        and box[1] >= frame[1]
        and box[2] <= frame[2]
        and box[3] <= frame[3]
    )
