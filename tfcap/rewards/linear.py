"""Sums of weighted parts, as papers write rewards and objectives."""

import keras


class Linear:
    """Adds, subtracts and scales rewards, and objectives.

    ```
    sum_i weight_i * part_i
    ```

    A weight is a number or a `keras.Variable`, which stands on the right,
    `part * weight`, since Keras claims what stands right of a variable of its
    own. A class that inherits from this one overrides `_sum()`.
    """

    def _pairs(self):
        """Weights and parts of which this is the sum."""
        return ((1.0, self),)

    def _sum(self, pairs):
        """The sum of pairs of weights and parts."""
        raise NotImplementedError

    def _scaled(self, weight):
        """This times a `keras.Variable`."""
        return self._sum([(weight, self)])

    def __add__(self, other):
        if not isinstance(other, Linear):
            return NotImplemented
        return self._sum([*self._pairs(), *other._pairs()])

    def __radd__(self, other):
        # `sum()` starts from 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other):
        return self + -1.0 * other

    def __neg__(self):
        return -1.0 * self

    def __mul__(self, weight):
        if isinstance(weight, Linear):
            return NotImplemented
        if isinstance(weight, keras.Variable):
            return self._scaled(weight)
        if any(isinstance(own, keras.Variable) for own, _ in self._pairs()):
            return self._sum([(weight, self)])
        return self._sum([(own * weight, part) for own, part in self._pairs()])

    __rmul__ = __mul__
