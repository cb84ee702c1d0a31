"""Points of all methods by label."""

from reproduce.comparisons.all.rows import FAMILY
from reproduce.comparisons.all.rows import TITLES
from reproduce.psst_figures import HUMAN
from reproduce.psst_figures import method_title
from reproduce.score_tables import Row
from reproduce.score_tables import by_row

#: Numbers that move a method, and their symbols.
SYMBOLS = {"lambda": "\u03bb", "rho": "\u03c1", "gamma": "\u03b3"}
BASE = "speaker_mle"


class Place(Row):
    """A method at one strength, printed by its published name."""

    __slots__ = ()

    @property
    def strength(self):
        """The strength in symbols."""
        moved = self.moved
        parts = [
            f"{v} = {moved[k]:g}" for k, v in SYMBOLS.items() if k in moved
        ]
        return ", ".join(parts)

    def __str__(self):
        return ", ".join(filter(None, [title_of(self.method), self.strength]))


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
    speakers = [r for r in records if r["method"] not in HUMAN]
    runs = by_row(speakers, FAMILY)
    return {Place(*row): by_seed for row, by_seed in runs.items()}
