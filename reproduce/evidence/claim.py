"""Claims: sentences of pages whose numbers are quantities of records."""

import functools
import re
from dataclasses import dataclass
from dataclasses import field

from reproduce.evidence.prose import WRITTEN
from reproduce.evidence.prose import free_numbers
from reproduce.evidence.prose import is_written
from reproduce.evidence.prose import masked
from reproduce.evidence.prose import rewritten
from reproduce.evidence.quantity import Quantity
from reproduce.evidence.verdict import DIRECTIONS
from tfcap.curves import Interval

_FIELD = re.compile(
    r"\{(?:(?P<direction>[<>~]) )?(?P<expression>[^{}|]+)"
    r"(?:\|(?P<form>[^{}]+))?\}"
)
#: How a field is written: the mean, or which numbers in which order.
_SHAPES = {
    "mean": (WRITTEN, "m"),
    "ci": (rf"{WRITTEN} \[{WRITTEN}, {WRITTEN}\]", "mlh"),
    "bounds": (rf"\[{WRITTEN}, {WRITTEN}\]", "lh"),
}


@dataclass(frozen=True)
class Field:
    """One place in a claim's text: a quantity, and how it is written.

    Args:
        direction: String, what is expected, a key of `DIRECTIONS`.
        form: Words with commas: `ci` for mean and interval, `bounds` for the
            interval alone; `%` for a hundred times the quantity; `neg` for
            its negative.
    """

    direction: str
    quantity: Quantity
    form: tuple = ()

    @property
    def shape(self):
        """Pattern of the numbers, and which they are."""
        asked = [name for name in self.form if name in _SHAPES]
        return _SHAPES[asked[0] if asked else "mean"]

    def numbers(self, found: Interval) -> list[float]:
        """The numbers that an interval gives, in the order of the text."""
        scale = 100.0 if "%" in self.form else 1.0
        mean, *bounds = (scale * x for x in found)
        if "neg" in self.form:
            mean, bounds = -mean, [-x for x in reversed(bounds)]
        known = dict(zip("mlh", (mean, *bounds)))
        return [known[letter] for letter in self.shape[1]]


@dataclass(frozen=True)
class Claim:
    """A sentence of a page, with fields for what is measured.

    Args:
        name: String, `PAGE/ID`.
        page: String, path of the page, relative to the repository.
        run: String, name of the run whose records it is about.
        text: String, the page's words, with fields in braces in the place of
            measured numbers: `"finds {> r@10: a - b|ci} more"`.
        rows: Dict of rows by short names that expressions may use.
        given: String, numbers of the words that are settings.
        planned: Boolean, whether it is registered before there are records,
            and stands on no page yet.
    """

    name: str
    page: str
    run: str
    text: str
    rows: dict = field(default_factory=dict)
    given: str = ""
    planned: bool = False

    def __post_init__(self):
        loose = free_numbers(_FIELD.sub(" ", self.text), self.given)
        if loose or not self.fields:
            raise ValueError(
                "`text` must have fields for what is measured, and `given` "
                f"name its other numbers. Received: {loose} in {self.name}."
            )

    @functools.cached_property
    def fields(self) -> list[Field]:
        """Fields in the order of the text."""
        return [self._field(m) for m in _FIELD.finditer(self.text)]

    def _field(self, match):
        direction = match["direction"] or ""
        form = tuple(filter(None, (match["form"] or "").split(",")))
        known = [*_SHAPES, "%", "neg"]
        unknown = [name for name in form if name not in known]
        if unknown or direction not in DIRECTIONS:
            raise ValueError(
                f"`text` must have forms of {', '.join(known)}. Received: "
                f"{match[0]} in {self.name}."
            )
        score, colon, rows = match["expression"].partition(": ")
        words = [
            self.rows.get(w.rstrip(","), w.rstrip(",")) + "," * w.endswith(",")
            for w in rows.split()
        ]
        return Field(
            direction, Quantity(f"{score}{colon}{' '.join(words)}"), form
        )

    @functools.cached_property
    def pattern(self):
        """Regular expression of the text on its page."""
        parts, end = [], 0
        for match, one in zip(_FIELD.finditer(self.text), self.fields):
            parts += [_literal(self.text[end : match.start()])]
            parts += [f"({one.shape[0]})"]
            end = match.end()
        return re.compile("".join([*parts, _literal(self.text[end:])]))

    def find(self, text: str):
        """The place of the claim on its page.

        Raises:
            ValueError: If it stands there not once.
        """
        found = [*self.pattern.finditer(masked(text))]
        if len(found) != 1:
            raise ValueError(
                f"`{self.page}` must have the words of the claim {self.name} "
                f"once, with numbers for its fields. Received: {len(found)} "
                f"such places. Change the page, or the register: {self.text}"
            )
        return found[0]

    def wrong(self, place: re.Match, found: list[Interval]) -> list[str]:
        """Numbers at the claim's place that are not what was found."""
        faults = []
        for one, words, interval in self._written(place, found):
            wanted = one.numbers(interval)
            written = re.findall(WRITTEN, words)
            if not all(map(is_written, written, wanted)):
                shown = ", ".join(f"{x:.5g}" for x in wanted)
                faults.append(
                    f"{self.name}: {words!r} is {shown} "
                    f"({one.quantity.expression})"
                )
        return faults

    def filled(self, text: str, found: list[Interval]) -> str:
        """A page with this claim's numbers as they were found."""
        place, parts, end = self.find(text), [], 0
        for n, (one, words, interval) in enumerate(self._written(place, found)):
            new = _rewritten(words, one.numbers(interval))
            parts += [text[end : place.start(n + 1)], new]
            end = place.end(n + 1)
        return "".join([*parts, text[end:]])

    def _written(self, place, found):
        return zip(self.fields, place.groups(), found)


def _rewritten(words, values):
    """Numbers of a field anew; one that loses its sign is set as others."""
    left, plus = iter(values), "+" in words

    def new(match):
        signed = match[0][0] == "+" or (match[0][0] == "-" and plus)
        return rewritten(match[0], next(left), signed)

    return re.sub(WRITTEN, new, words)


def _literal(words):
    return r"\s+".join(map(re.escape, re.split(r"\s+", words)))
