"""Objectives: weighted sums of estimators."""

from collections.abc import Iterable
from typing import Any
from typing import NamedTuple

import keras
from keras import ops

from tfcap.rewards.reward import Linear


class Term(NamedTuple):
    """One estimator with its weight, a number or a `keras.Variable`."""

    weight: Any
    estimator: "Objective"


class Objective(Linear):
    """A weighted sum of estimators, for which networks are trained.

    ```
    objective = sum_i weight_i * Estimator_i(reward_i, decoder_i)
    ```

    Estimators are objectives of one term, added and scaled as the papers
    write them:

    ```
    objective = 0.5 * TeacherForcing() + Pathwise(reward, decoder)
    ```

    A weight may be a `keras.Variable`, which a callback can change during
    training; it then stands on the right, `TeacherForcing() * weight`, since
    Keras claims what stands right of a variable of its own. A run that is
    gone on with has it again if the callback tells it (`get_state()`).

    Args:
        terms: Iterable of pairs `(weight, estimator)`.

    Example:

    >>> half = 0.5 * tfcap.objectives.TeacherForcing()
    >>> [term.weight for term in (half + 2.0 * half).terms]
    [0.5, 1.0]
    """

    def __init__(self, terms: Iterable[tuple[Any, "Objective"]]):
        self._terms = tuple(Term(*term) for term in terms)
        for _, estimator in self._terms:
            if not isinstance(estimator, Objective):
                raise TypeError(
                    "`terms` must hold estimators. Received: "
                    f"{estimator!r}. Make one of a reward, such as "
                    "`ScoreFunction(reward, decoder)`."
                )

    @property
    def terms(self) -> tuple[Term, ...]:
        """Tuple of `Term`."""
        return self._terms

    def loss(self, episode: Any) -> tuple[Any, dict]:
        """Computes the loss of one step.

        Args:
            episode: `tfcap.objectives.Episode`.

        Returns:
            This replica's share of the loss over the global batch, a float32
            scalar; and a dict of scalars to log, by name.
        """
        losses, logs = self.losses(episode)
        return sum(losses.values(), 0.0), logs

    def losses(self, episode: Any) -> tuple[dict, dict]:
        """Computes the loss of one step, term by term.

        Args:
            episode: `tfcap.objectives.Episode`.

        Returns:
            Dict of this replica's shares of the weighted losses, by the terms'
            names; and a dict of scalars to log, by name.
        """
        losses, logs = {}, {}
        for name, (weight, estimator) in self.named_terms().items():
            loss, logs[name], statistics = estimator.reduced_loss(episode)
            losses[name] = ops.cast(weight, "float32") * loss
            logs |= {f"{name}_{key}": x for key, x in statistics.items()}
        return losses, logs

    def named_terms(self) -> dict[str, Term]:
        """Returns the terms by a unique name, numbered where names repeat."""
        named = {}
        for term in self.terms:
            name, count = term.estimator.name, 1
            while name in named:
                count += 1
                name = f"{term.estimator.name}_{count}"
            named[name] = term
        return named

    def reward_names(self) -> tuple[str, ...]:
        """Returns the names under which rewards and their parts are logged."""
        return self._names("parts")

    def log_names(self) -> tuple[str, ...]:
        """Returns the names of rewards, their parts and all statistics."""
        return self._names("statistics")

    def _names(self, attribute):
        return tuple(
            logged
            for name, (_, estimator) in self.named_terms().items()
            for logged in (
                name,
                *(f"{name}_{key}" for key in getattr(estimator, attribute)),
            )
        )

    def layers(self) -> list:
        """Returns the Keras layers that the terms hold, each once."""
        return each_once(x for _, term in self.terms for x in term.layers())

    def _pairs(self):
        return self.terms

    def _sum(self, pairs):
        return Objective(pairs)

    def __mul__(self, weight):
        # A sum is flat: a weight is of one estimator, and one number or
        # variable.
        weights = [weight, *(own for own, _ in self.terms)]
        variable = any(isinstance(x, keras.Variable) for x in weights)
        if variable and any(
            isinstance(own, keras.Variable) or own != 1.0
            for own, _ in self.terms
        ):
            raise ValueError(
                "A variable `weight` must scale a bare term. Received a sum "
                "that is weighted already. Scale its terms one by one."
            )
        if isinstance(weight, keras.Variable):
            return self._sum([(weight, part) for _, part in self.terms])
        return super().__mul__(weight)

    __rmul__ = __mul__


def each_once(layers: Iterable) -> list:
    """Lists layers, each once: several parts may hold one."""
    return list({id(layer): layer for layer in layers}.values())
