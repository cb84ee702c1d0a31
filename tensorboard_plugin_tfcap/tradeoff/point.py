"""One point of a trade-off: a run, at one step."""

from dataclasses import dataclass
from dataclasses import field

#: Parameters as papers write them.
SYMBOLS = {
    "lambda": "\u03bb",
    "rho": "\u03c1",
    "temperature": "\u03c4",
    "tau": "\u03c4",
}


#: Integral floats below are written as integers.
_LARGEST = 1e15


@dataclass(frozen=True)
class TradeoffPoint:
    """The measurements of one run at one step.

    Args:
        run: String, the run's name.
        method: String, such as `"psst_multinomial"`.
        params: Dict of numbers and strings by name, such as lambda.
        seed: String, number or `None`.
        step: Integer.
        metrics: Dict of finite floats by name.
        wall_time: Float, seconds since 1970. Defaults to `0.0`.
        samples: Boolean, whether there are captions to look at. Defaults to
            `False`.
        title: String, the method's. Defaults to `""`: that of its name.
        diverged: Tuple of names of metrics that were NaN or infinite.
    """

    run: str
    method: str
    params: dict = field(default_factory=dict)
    seed: str | int | float | None = None
    step: int = 0
    metrics: dict = field(default_factory=dict)
    wall_time: float = 0.0
    samples: bool = False
    title: str = ""
    diverged: tuple = ()


@dataclass(frozen=True)
class Reference:
    """A published result, to compare one's own with.

    Args:
        title: String, such as a method's.
        metrics: Dict of floats by name.
        source: String, where it was published, and on what data.
        data: String, the name of that data set. Defaults to `""`: not stated.
    """

    title: str
    metrics: dict
    source: str
    data: str = ""


def parameter_title(name):
    """A parameter as papers write it."""
    return SYMBOLS.get(name, name)


def parameter_text(name, value):
    """A parameter with its value: `"\u03bb = 0.001"`."""
    return f"{parameter_title(name)} = {value_text(value)}"


def parameter_texts(name, values) -> dict:
    """Texts of a parameter by its values, as of `parameter_text()`.

    Numbers have more digits where six do not distinguish them.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.point import parameter_texts
    >>> list(parameter_texts("k", [0.1, 0.10000003]).values())
    ['k = 0.1', 'k = 0.10000003']
    """
    values = dict.fromkeys(values)
    numbers = [value for value in values if is_number(value)]
    digits = 6
    while digits < 17 and len(
        {value_text(value, digits) for value in numbers}
    ) < len(numbers):
        digits += 1
    title = parameter_title(name)
    return {v: f"{title} = {value_text(v, digits)}" for v in values}


def value_text(value, digits=6):
    """A value as text; a number that is not integral, with these digits."""
    if not is_number(value):
        return str(value)
    if _is_whole(value):
        return str(int(value))
    return f"{value:.{digits}g}"


def rounded(value):
    """A number with six digits; integers, which may be names, unchanged."""
    return value if _is_whole(value) else float(f"{value:.6g}")


def is_number(value):
    """Check whether a value is an integer or a float."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value):
    if isinstance(value, int):
        return True
    return value.is_integer() and abs(value) < _LARGEST
