"""Axes along which estimators are measured: what is moved, and of which."""

from typing import NamedTuple

_SHOWN = (
    *("straight-through", "Gumbel", "ReinMax", "PSST"),
    *("straight-through, expected end", "REINFORCE, leave-one-out"),
)
_SEVERAL = (
    *("straight-through", "ReinMax", "REINFORCE", "sum and sample"),
    *("REINFORCE, leave-one-out", "REINFORCE, sample mean"),
)
_PARTIAL = (
    *("PSST", "PSST Gumbel", "PSST ReinMax", "PSST Gumbel-Rao"),
    *("PSST ReinMax-Rao", "PSST, expected end"),
)
_HEATED = (
    *("Gumbel", "Gumbel-Rao", "ReinMax", "ReinMax-Rao"),
    *("PSST Gumbel, decoupled", "Gumbel, expected end"),
    "ReinMax, expected end",
)
_NOISY = ("Gumbel-Rao", "ReinMax-Rao", "ReinMax-CV")
_FIXED = ("straight-through", "Gumbel", "PSST", "ReinMax")


class Axis(NamedTuple):
    """A number that is moved.

    Args:
        name: String, that of a field of a `World` or of a `Setting`.
        moved: `"world"` or `"setting"`, whose number it is.
        values: Tuple of its values.
        shown: Tuple of names of the estimators that the figure shows.
        all: Boolean, whether all estimators are measured along a number of
            the world, or those that are shown alone.
    """

    name: str
    moved: str
    values: tuple
    shown: tuple
    all: bool = False

    def measured(self, names: list[str]) -> list[str]:
        """Returns those of some estimators that are measured along it.

        Along a number of a setting, those that it moves: `Entry.axes`.
        """
        if self.moved == "world":
            return [x for x in names if self.all or x in self.shown]
        # TensorFlow takes a moment: not for `--help`.
        from reproduce.comparisons.estimators.registry import ESTIMATORS

        return [x for x in names if self.name in ESTIMATORS[x].axes]


AXES = {
    axis.name: axis
    for axis in (
        Axis("words", "world", (2, 4, 8), _SHOWN, True),
        Axis("length", "world", (1, 2, 3, 4), _SHOWN, True),
        Axis("ends", "world", (False,), _FIXED),
        Axis("temperature", "setting", (0.25, 0.5, 1.0, 2.0), _HEATED),
        Axis("rho", "setting", (0.0, 0.25, 0.5, 0.75, 1.0), _PARTIAL),
        Axis("samples", "setting", (2, 4, 8), _SEVERAL),
        Axis("draws", "setting", (1, 3, 10), _NOISY),
        Axis("gae", "setting", (0.0, 0.5, 0.95, 1.0), ("actor-critic",)),
    )
}
