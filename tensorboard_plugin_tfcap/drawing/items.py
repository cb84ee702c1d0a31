"""Parts of a drawing, placed: the origin is above on the left."""

from dataclasses import dataclass
from dataclasses import field


@dataclass(frozen=True)
class Path:
    """A line through points, or what it encloses.

    Args:
        points: List of pairs of floats.
        color: String, of the line, or `None` for no line.
        dash: Tuple of floats, lengths of strokes and gaps.
        fill: String, or `None`.
    """

    points: list
    color: str | None
    width: float = 1.0
    dash: tuple = ()
    fill: str | None = None
    opacity: float = 1.0


@dataclass(frozen=True)
class Mark:
    """A mark at a point; a hollow one has the paper inside.

    Args:
        size: Float, the diameter.
        title: String, of the card that a pointer over it shows.
    """

    x: float
    y: float
    symbol: str
    size: float
    color: str
    hollow: bool = False
    width: float = 1.0
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True)
class Text:
    """A line of text, at its baseline.

    Args:
        anchor: `"start"`, `"middle"` or `"end"`: of the text, what is at `x`.
        turned: Boolean, whether it runs upward.
        halo: Boolean, whether paper surrounds it.
    """

    x: float
    y: float
    text: str
    size: float
    color: str
    anchor: str = "start"
    turned: bool = False
    bold: bool = False
    halo: bool = False


@dataclass(frozen=True)
class Layer:
    """Items that belong together.

    Args:
        kind: String, such as `"curve"`, `"legend"` or `"axis"`.
        group: String, the method that they are of, or `""`.
        clip: Tuple of left, top, width and height out of which nothing is
            seen, or `None`.
    """

    kind: str
    items: list
    group: str = ""
    clip: tuple | None = None


@dataclass(frozen=True)
class Drawing:
    """Everything that is on a sheet.

    Args:
        width: Float, in points; so is the height.
        label: String, the figure in a sentence.
        note: String, how to read it.
    """

    width: float
    height: float
    paper: str
    font: str
    layers: list = field(default_factory=list)
    label: str = ""
    note: str = ""
