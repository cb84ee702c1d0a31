"""Verdicts on claims: what was registered beside what is found."""

import math
from typing import NamedTuple

from tfcap.curves import Interval

#: Expected directions by their sign in the register.
DIRECTIONS = {">": "above 0", "<": "below 0", "~": "not shown", "": "value"}
#: Verdicts, the worst last.
HOLDS, ELSEWHERE, WEAKER, GONE = "holds", "not run here", "weaker", "gone"
VERDICTS = (HOLDS, ELSEWHERE, WEAKER, GONE)
#: How far a value of one seed may be from another, as a share of it.
TOLERANCE = 0.1


class Registered(NamedTuple):
    """An interval as it was registered.

    Args:
        seeds: Integer, how many it is of.
        date: String, the day: `"2026-11-23"`.
    """

    mean: float
    low: float
    high: float
    seeds: int
    date: str


def band(registered: Registered, seeds: int, again: bool) -> tuple:
    """Bounds within which a mean is expected.

    From the same records, that is the registered interval. Other runs vary
    themselves: the mean of k new seeds lies, with 95 % probability, within
    `sqrt(1 + n / k)` times the interval of n seeds (Student's prediction
    interval). One seed has no interval: a tenth to both sides then.
    """
    half = (registered.high - registered.low) / 2
    if not math.isfinite(half):
        half = TOLERANCE * abs(registered.mean)
    elif again:
        half *= math.sqrt(1 + registered.seeds / seeds)
    # The register rounds.
    half += 1e-6 * (1 + abs(registered.mean))
    return registered.mean - half, registered.mean + half


def judge(
    direction: str,
    registered: Registered,
    found: Interval,
    seeds: int,
    again: bool = False,
) -> str:
    """Verdict on one quantity.

    - An effect holds where it has the direction, at least the size that
      registration lets expect, and, of two seeds or more, an interval that
      leaves out 0. With the direction alone it is weaker; without, gone.
    - No effect (`"~"`) holds where the interval has 0, is weaker where it
      leaves it out as far as expected, and gone beyond.
    - A value holds within what is expected, is weaker where the intervals
      meet, and gone elsewhere.

    Args:
        direction: `">"`, `"<"`, `"~"` or `""`.
        found: `Interval`, of `seeds` seeds.
        again: Boolean, whether it is of other runs than those registered.

    Example:

    >>> from reproduce.evidence.verdict import Registered
    >>> from reproduce.evidence.verdict import judge
    >>> from tfcap.curves import Interval
    >>> registered = Registered(5.0, 2.0, 8.0, 3, "2026-11-23")
    >>> judge(">", registered, Interval(4.0, 1.0, 7.0), 3)
    'holds'
    >>> judge(">", registered, Interval(1.0, -3.0, 5.0), 3)
    'weaker'
    >>> judge(">", registered, Interval(-1.0, -5.0, 3.0), 3)
    'gone'
    """
    if direction == "<":
        flipped = registered._replace(
            mean=-registered.mean, low=-registered.high, high=-registered.low
        )
        found = Interval(-found.mean, -found.high, -found.low)
        return judge(">", flipped, found, seeds, again)
    low, high = band(registered, seeds, again)
    inside = low <= found.mean <= high
    wide = seeds > 1 and math.isfinite(found.low)
    if direction == ">":
        if found.mean <= 0:
            return GONE
        shown = not wide or found.low > 0
        return HOLDS if shown and found.mean >= low else WEAKER
    if direction == "~":
        if wide and found.low <= 0 <= found.high:
            return HOLDS
        return (WEAKER if wide else HOLDS) if inside else GONE
    meets = wide and found.low <= high and low <= found.high
    return HOLDS if inside else WEAKER if meets else GONE


def worst(verdicts) -> str:
    """The worst of several verdicts."""
    return max(verdicts, key=VERDICTS.index)
