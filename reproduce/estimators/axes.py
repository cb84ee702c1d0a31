"""What is moved, and of which estimators."""

from typing import NamedTuple

_SHOWN = (
    *("straight-through", "Gumbel", "ReinMax", "PSST"),
    *("straight-through, expected end", "REINFORCE, leave-one-out"),
)
_SEVERAL = (
    *("straight-through", "ReinMax", "REINFORCE", "sum and sample"),
    *("REINFORCE, leave-one-out", "REINFORCE, sample mean"),
)
_PARTIAL = ("PSST", "PSST Gumbel", "PSST ReinMax", "PSST, expected end")
_HEATED = (
    *("Gumbel", "Gumbel-Rao", "ReinMax", "ReinMax-Rao"),
    "PSST Gumbel, decoupled",
)
_NOISY = ("Gumbel-Rao", "ReinMax-Rao", "ReinMax-CV")
_FIXED = ("straight-through", "Gumbel", "PSST", "ReinMax")


class Axis(NamedTuple):
    """A number that is moved.

    Args:
        moved: `"world"` or `"setting"`, whose number it is.
        values: Tuple of its values.
        shown: Tuple of names of the estimators that the figure shows.
        all: Boolean, whether all estimators are measured along it, or those
            that are shown alone, which it means something to.
    """

    moved: str
    values: tuple
    shown: tuple
    all: bool = False

    def measured(self, names: list[str]) -> list[str]:
        """Returns those of some estimators that are measured along it."""
        return [x for x in names if self.all or x in self.shown]


AXES = {
    "words": Axis("world", (2, 4, 8), _SHOWN, True),
    "length": Axis("world", (1, 2, 3, 4), _SHOWN, True),
    "ends": Axis("world", (False,), _FIXED),
    "temperature": Axis("setting", (0.25, 0.5, 1.0, 2.0), _HEATED),
    "rho": Axis("setting", (0.0, 0.25, 0.5, 0.75, 1.0), _PARTIAL),
    "samples": Axis("setting", (2, 4, 8), _SEVERAL, True),
    "draws": Axis("setting", (1, 3, 10), _NOISY),
}
