"""Points of all methods by label, and what is compared of them."""

from typing import NamedTuple

from reproduce.comparisons.all.rows import FAMILY
from reproduce.comparisons.all.rows import TITLES
from reproduce.psst_figures import HUMAN
from reproduce.psst_figures import method_title
from tfcap.curves import mean_interval

#: Numbers that move a method, and their symbols.
SYMBOLS = {
    "lambda": "\u03bb",
    "gamma": "\u03b3",
    "alpha": "\u03b1",
    "rho": "\u03c1",
    "temperature": "\u03c4",
}
BASE = "speaker_mle"


class Place(NamedTuple):
    """A method at one strength.

    Args:
        label: String, as tables print it.
        numbers: Tuple of pairs of a name and a number, what moves the method.
    """

    label: str
    method: str
    numbers: tuple = ()

    @property
    def strength(self):
        """The numbers as text."""
        parts = [f"{SYMBOLS[name]} = {value:g}" for name, value in self.numbers]
        return ", ".join(parts)

    @property
    def family(self):
        """Name of the family of the method."""
        return FAMILY.get(self.method, "others")

    def __str__(self):
        return self.label


def title_of(method):
    """A method as papers print it."""
    return TITLES.get(method) or method_title(method)


def runs_of(records: list[dict]) -> dict:
    """Records of speakers by place, then by seed, family by family.

    Example:

    >>> from reproduce.comparisons.all.runs import runs_of
    >>> record = {"method": "grpo", "seed": 0, "lambda": 0.01, "r@10": 80.0}
    >>> [str(place) for place in runs_of([record])]
    ['GRPO, \u03bb = 0.01']
    """
    runs = {}
    for record in records:
        if record["method"] in HUMAN:
            continue
        numbers = tuple((k, record[k]) for k in SYMBOLS if k in record)
        place = Place("", record["method"], numbers)
        title = title_of(record["method"])
        label = ", ".join(filter(None, [title, place.strength]))
        place = place._replace(label=label)
        by_seed = runs.setdefault(place, {})
        # A point of two sweeps has what either has found.
        by_seed[record["seed"]] = by_seed.get(record["seed"], {}) | record
    order = {method: number for number, method in enumerate(FAMILY)}
    return dict(
        sorted(
            runs.items(),
            key=lambda item: (
                order.get(item[0].method, len(order)),
                item[0].method,
                [value for _, value in item[0].numbers],
            ),
        )
    )


def values(by_seed: dict, name: str) -> list[float]:
    """A score of every seed that has it."""
    found = [by_seed[seed].get(name) for seed in sorted(by_seed)]
    return [value for value in found if value is not None]


def gaps(ours: dict, theirs: dict, name: str) -> list[float]:
    """Differences of a score, of the seeds that both have."""
    pairs = [
        (ours[seed].get(name), theirs[seed].get(name))
        for seed in sorted(ours.keys() & theirs.keys())
    ]
    return [a - b for a, b in pairs if None not in (a, b)]


def base_of(runs: dict) -> dict:
    """Records of maximum likelihood by seed."""
    return runs.get(Place(title_of(BASE), BASE), {})


def frontier(runs: dict, x: str, y: str) -> list[Place]:
    """Places that no other one exceeds in both scores, by `x`, falling.

    Means over seeds are compared, of those that have both scores.

    Example:

    >>> from reproduce.comparisons.all.runs import Place, frontier
    >>> runs = {
    ...     Place(name, name): {0: {"x": x, "y": y}}
    ...     for name, x, y in (("a", 2, 1), ("b", 1, 2), ("c", 1, 1))
    ... }
    >>> [place.label for place in frontier(runs, "x", "y")]
    ['a', 'b']
    """
    means = {}
    for place, by_seed in runs.items():
        pair = [values(by_seed, name) for name in (x, y)]
        if all(pair):
            means[place] = [mean_interval(scores).mean for scores in pair]
    best = [
        place
        for place, (a, b) in means.items()
        if not any(
            c >= a and d >= b and (c, d) != (a, b) for c, d in means.values()
        )
    ]
    return sorted(best, key=lambda place: -means[place][0])
