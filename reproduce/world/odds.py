"""Random choices with given odds, and topics that do not give answers away.

A question that is mostly answered "yes" for one shape and "no" for another can
be answered without a look at the image, and a model learns just that. Here
what is asked of is drawn so that every shape and every color is asked for as
often where it is as where it is not.
"""

import bisect
import functools
import itertools

import numpy as np

# Share of scenes that hold such a thing, by a count over 6,000 scenes.
SHAPE_PRESENCE = {
    "ball": 0.74,
    "box": 0.69,
    "star": 0.55,
    "cone": 0.50,
    "heart": 0.41,
    "ring": 0.33,
    "cross": 0.29,
    "moon": 0.20,
}
COLOR_PRESENCE = {
    "red": 0.69,
    "blue": 0.55,
    "yellow": 0.41,
    "green": 0.41,
    "white": 0.34,
    "black": 0.29,
    "orange": 0.22,
    "purple": 0.19,
}


def draw(rng, odds):
    """Draws a key of a dict of odds, which need not sum to one."""
    totals = list(itertools.accumulate(odds.values()))
    index = bisect.bisect(totals, rng.random() * totals[-1])
    return list(odds)[index]


def zipf(rng, items, power=1.0):
    """Draws from `items` with odds `1 / rank**power`."""
    totals = _zipf_totals(len(items), power)
    return items[bisect.bisect(totals, rng.random() * totals[-1])]


@functools.lru_cache(maxsize=256)
def _zipf_totals(count, power):
    odds = (1 / (rank + 1) ** power for rank in range(count))
    return tuple(itertools.accumulate(odds))


def draw_topic(rng: np.random.Generator, presence: dict, present, wanted: bool):
    """Draws a value to ask the existence of, evenly over the values.

    ```
    p(value | it is there) = p(value | it is not)
    ```

    but for what two values of one scene do to each other.

    Returns:
        A value, or `None` where the scene has no such one.
    """
    odds = {
        value: 1 / share if wanted else 1 / (1 - share)
        for value, share in presence.items()
        if (value in present) == wanted
    }
    return draw(rng, odds) if odds else None
