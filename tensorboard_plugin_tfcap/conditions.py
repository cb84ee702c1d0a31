"""Conditions on the parameters of runs: `lambda>=0.001`, `rho=0.25`."""

import re
from dataclasses import dataclass

from tensorboard_plugin_tfcap.name_parts import plain_value
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.tradeoff.point import is_number
from tensorboard_plugin_tfcap.tradeoff.point import rounded

_CONDITION = re.compile(r"(.+?)(>=|<=|=)(.*)", re.DOTALL)
#: Stands for the seed, which is not a parameter.
SEED = "seed"


@dataclass(frozen=True)
class Condition:
    """Condition on a parameter of a run.

    Args:
        sign: `"="`, `">="` or `"<="`.
        text: String, the value as it was written: `"01"` is a string to a
            parameter with strings, and 1 to one with numbers.
    """

    name: str
    sign: str
    text: str

    def holds(self, point) -> bool:
        """Check whether a point has such a value."""
        own = point.params.get(self.name)
        if own is None and self.name == SEED:
            own = point.seed
        if self.sign == "=":
            return is_value(own, self.text)
        if not is_number(own):
            return False
        value = plain_value(self.text)
        return own >= value if self.sign == ">=" else own <= value


def is_value(own, text: str) -> bool:
    """Check whether a value equals a text, exactly or as displayed.

    Example:

    >>> from tensorboard_plugin_tfcap.conditions import is_value
    >>> is_value("01", "1"), is_value(1, "01"), is_value(0.12345678, "0.123457")
    (False, True, True)
    """
    if not is_number(own):
        return own is not None and str(own).strip() == text
    value = plain_value(text)
    # As floats: JavaScript has no other numbers.
    return is_number(value) and float(value) in (float(own), rounded(own))


def read_condition(text: str) -> Condition:
    """Reads a condition.

    Raises:
        QueryError: If the text is not a condition.

    Example:

    >>> from tensorboard_plugin_tfcap.conditions import read_condition
    >>> read_condition("lambda>=1e-3")
    Condition(name='lambda', sign='>=', text='1e-3')
    """
    match = _CONDITION.fullmatch(text)
    name, sign, value = map(str.strip, match.groups() if match else ("",) * 3)
    if not sign or (sign != "=" and not is_number(plain_value(value))):
        raise QueryError(
            "`where` must be a parameter, one of = >= <=, and a value, which "
            f"is a number after >= and <=. Received: where={text!r:.120}."
        )
    return Condition(name, sign, value)


def where(points, texts):
    """Points for which all conditions hold.

    Of several values of one parameter, one is enough.

    Raises:
        QueryError: If a text is not a condition, or its parameter unknown.
    """
    by_name, known = {}, {SEED} | {n for p in points for n in p.params}
    for condition in map(read_condition, texts):
        if points and condition.name not in known:
            raise QueryError(
                "`where` must name a parameter of the runs. Received: "
                f"where={condition.name!r:.80}, of {', '.join(sorted(known))}."
            )
        key = condition.name, condition.sign
        by_name.setdefault(key, []).append(condition)
    return [
        point
        for point in points
        if all(any(c.holds(point) for c in one) for one in by_name.values())
    ]
