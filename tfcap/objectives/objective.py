"""Objectives: weighted sums of estimators."""

from typing import NamedTuple

import keras
from keras import ops


class Term(NamedTuple):
    """One estimator with its weight, a number or a `keras.Variable`."""

    weight: object
    estimator: "Objective"


class Objective:
    """What a speaker is trained for.

    Objectives are added and scaled as the papers write them,

    ```
    objective = 0.5 * TeacherForcing() + Pathwise(reward, decoder)
    ```

    A weight may be a `keras.Variable`, which a callback can change during
    training; it then stands on the right, `TeacherForcing() * weight`, since
    Keras claims what stands right of a variable of its own.

    Example:

    >>> half = 0.5 * tfcap.objectives.TeacherForcing()
    >>> [term.weight for term in (half + 2.0 * half).terms]
    [0.5, 1.0]
    """

    @property
    def terms(self):
        """Tuple of `Term`."""
        return (Term(1.0, self),)

    def loss(self, episode):
        """The loss of one step.

        Args:
            episode: `tfcap.objectives.Episode`.

        Returns:
            This replica's share of the loss over the global batch, a float32
            scalar; and a dict of scalars to log, by name.
        """
        losses, logs = self.losses(episode)
        return sum(losses.values(), 0.0), logs

    def losses(self, episode):
        """The loss of one step, term by term.

        Args:
            episode: `tfcap.objectives.Episode`.

        Returns:
            Dict of this replica's shares of the weighted losses, by the terms'
            names; and a dict of scalars to log, by name.
        """
        losses, logs = {}, {}
        for name, (weight, estimator) in self.named_terms().items():
            value, term_logs = estimator.term(episode)
            losses[name] = ops.cast(weight, "float32") * value
            for key, logged in term_logs.items():
                logs[f"{name}_{key}" if key else name] = logged
        return losses, logs

    def named_terms(self):
        """Terms by a unique name, numbered where names repeat."""
        named = {}
        for term in self.terms:
            name, count = term.estimator.name, 1
            while name in named:
                count += 1
                name = f"{term.estimator.name}_{count}"
            named[name] = term
        return named

    def reward_names(self):
        """Names under which the rewards are logged, and their parts alone."""
        return tuple(
            f"{name}_{key}" if key else name
            for name, term in self.named_terms().items()
            for key in ("", *term.estimator.parts_of_reward)
        )

    def log_names(self):
        """Names under which the rewards are logged, and what is beside them."""
        return tuple(
            f"{name}_{key}" if key else name
            for name, term in self.named_terms().items()
            for key in term.estimator.log_keys()
        )

    def layers(self):
        """The Keras layers that the terms hold, each once."""
        found = []
        for _, estimator in self.terms:
            for layer in estimator.parts():
                if not any(layer is seen for seen in found):
                    found.append(layer)
        return found

    def __add__(self, other):
        if not isinstance(other, Objective):
            return NotImplemented
        return WeightedSum((*self.terms, *other.terms))

    def __radd__(self, other):
        # `sum()` starts from 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other):
        return self + -1.0 * other

    def __mul__(self, weight):
        if isinstance(weight, keras.Variable):
            if any(own != 1.0 for own, _ in self.terms):
                raise ValueError(
                    "A variable `weight` must scale a bare term. Received a "
                    "sum that is weighted already. Scale its terms one by one."
                )
            return WeightedSum(Term(weight, term) for _, term in self.terms)
        return WeightedSum(
            Term(own * float(weight), term) for own, term in self.terms
        )

    __rmul__ = __mul__


class WeightedSum(Objective):
    """Sum of weighted estimators; what `+` and `*` make.

    Args:
        terms: Iterable of `(weight, estimator)`.

    Example:

    >>> forcing = tfcap.objectives.TeacherForcing()
    >>> objective = tfcap.objectives.WeightedSum([(0.5, forcing)])
    >>> list(objective.named_terms())
    ['teacher_forcing']
    """

    def __init__(self, terms):
        self._terms = tuple(Term(*term) for term in terms)

    @property
    def terms(self):
        return self._terms
