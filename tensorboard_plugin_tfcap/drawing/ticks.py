"""Scales of axes: where values are, and where ticks stand."""

import math
from dataclasses import dataclass

#: Steps between ticks, but for powers of ten.
_STEPS = (1, 2, 2.5, 5, 10)
_SUPERSCRIPTS = str.maketrans(
    "-0123456789",
    "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079",
)


@dataclass(frozen=True)
class Scale:
    """An axis: values between two ends, and points of the sheet.

    Args:
        low: Float, the value at `start`; its logarithm to base ten on a
            logarithmic axis. So is `high`, at `end`.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value):
        """The place of a value, or `None` where it has none."""
        if value is None or not math.isfinite(value):
            return None
        if self.log:
            if value <= 0:
                return None
            value = math.log10(value)
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def holds(self, value):
        """Check whether a value is on the axis, or at its very end."""
        place = self(value)
        if place is None:
            return False
        low, high = sorted((self.start, self.end))
        return low - 0.5 <= place <= high + 0.5

    def ticks(self, most):
        """Pairs of values and texts, at most so many.

        Example:

        >>> from tensorboard_plugin_tfcap.drawing.ticks import Scale
        >>> Scale(0.0, 1.0, 0.0, 100.0).ticks(3)
        [(0.0, '0.0'), (0.5, '0.5'), (1.0, '1.0')]
        >>> Scale(-1.0, 2.0, 0.0, 100.0, log=True).ticks(4)
        [(0.1, '0.1'), (1.0, '1'), (10.0, '10'), (100.0, '100')]
        """
        low, high = sorted((self.low, self.high))
        if self.log and high - low >= 1:
            return _decades(low, high, most)
        if self.log:
            low, high = 10**low, 10**high
        return _even(low, high, most)


def _even(low, high, most):
    size = (high - low) / max(most, 1)
    power = math.floor(math.log10(size))
    step = next(
        s * 10**power for s in _STEPS if s * 10**power >= size * (1 - 1e-9)
    )
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    # Of 2.5, the half counts, too.
    digits += abs(step * 10**digits - round(step * 10**digits)) > 1e-6
    values = [place * step for place in range(first, last + 1)]
    if max(map(abs, values), default=0) >= 1e6 or digits > 5:
        return [(value, f"{value:.4g}") for value in values]
    return [(value, f"{value + 0.0:.{digits}f}") for value in values]


def _decades(low, high, most):
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    every = max(1, math.ceil((last - first + 1) / max(most, 1)))
    values = [10.0**power for power in range(first, last + 1, every)]
    between = [m * v for v in (10.0 ** (first - 1), *values) for m in (2, 5)]
    between = [v for v in between if low <= math.log10(v) <= high]
    if every == 1 and len(values) + len(between) <= most:
        values = sorted((*values, *between))
    return [(value, _power_text(value)) for value in values]


def _power_text(value):
    if 1e-4 <= value < 1e6:
        return f"{value:.10g}"
    power = math.floor(math.log10(value) + 1e-9)
    times = round(value / 10.0**power)
    text = "10" + str(power).translate(_SUPERSCRIPTS)
    return text if times == 1 else f"{times}\u00b7{text}"
