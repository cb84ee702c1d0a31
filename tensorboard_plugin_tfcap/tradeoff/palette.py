"""Colors of paper, ink and grid, by day and by night."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """Colors that a figure is drawn on.

    Args:
        paper: String, a color.
        ink: String.
        grid: String.
        quiet: String, of what stands back.
    """

    paper: str
    ink: str
    grid: str
    quiet: str


LIGHT = Palette("#ffffff", "#1c2024", "#e3e6ea", "#5f666d")
DARK = Palette("#1f2328", "#e8eaed", "#3a4047", "#a0a7af")
#: Colors that are too dim on dark paper, and what is drawn there.
_BRIGHTER = {"#0072B2": "#4DA3E0", "#333333": "#D0D3D7", "#7A3E9D": "#B57EDC"}


def on_paper(color, dark):
    """A method's color, which is seen on dark paper, too."""
    return _BRIGHTER.get(color, color) if dark else color
