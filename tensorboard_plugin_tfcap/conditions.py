"""Conditions on the parameters of runs: `lambda>=0.001`, `rho=0.25`."""

import re
from dataclasses import dataclass

from tensorboard_plugin_tfcap.name_parts import plain_value
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.tradeoff.point import is_number
from tensorboard_plugin_tfcap.tradeoff.point import value_text

_CONDITION = re.compile(r"(.+?)(>=|<=|=)(.*)", re.DOTALL)
#: Stands for the seed, which is no parameter.
SEED = "seed"


@dataclass(frozen=True)
class Condition:
    """What a parameter of a run must be.

    Args:
        sign: `"="`, `">="` or `"<="`.
    """

    name: str
    sign: str
    value: str | int | float

    def holds(self, point) -> bool:
        """Check whether a point has such a value."""
        own = point.seed if self.name == SEED else point.params.get(self.name)
        if own is None:
            return False
        if not (is_number(own) and is_number(self.value)):
            return self.sign == "=" and str(own) == str(self.value)
        if self.sign == "=":
            return value_text(own) == value_text(self.value)
        return own >= self.value if self.sign == ">=" else own <= self.value


def read_condition(text: str) -> Condition:
    """Reads a condition.

    Raises:
        QueryError: If it is none.

    Example:

    >>> from tensorboard_plugin_tfcap.conditions import read_condition
    >>> read_condition("lambda>=1e-3")
    Condition(name='lambda', sign='>=', value=0.001)
    """
    match = _CONDITION.fullmatch(text)
    value = match and plain_value(match[3].strip())
    if match is None or (match[2] != "=" and not is_number(value)):
        raise QueryError(
            "`where` must be a parameter, one of = >= <=, and a value, a "
            f"number after >= and <=. Received: where={text!r:.120}."
        )
    return Condition(match[1].strip(), match[2], value)


def where(points, texts):
    """Points for which all conditions hold.

    Of several values that a parameter may have, one is enough.

    Raises:
        QueryError: If one is none, or of a parameter that no run has.
    """
    by_name, known = {}, {SEED} | {n for p in points for n in p.params}
    for condition in map(read_condition, texts):
        if points and condition.name not in known:
            raise QueryError(
                "`where` must be of a parameter of the runs. Received: "
                f"where={condition.name!r:.80}, of {', '.join(sorted(known))}."
            )
        key = condition.name, condition.sign
        by_name.setdefault(key, []).append(condition)
    return [
        point
        for point in points
        if all(any(c.holds(point) for c in one) for one in by_name.values())
    ]
