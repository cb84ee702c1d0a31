"""The figure as a file for print: its size, fonts and format."""

import re
from dataclasses import dataclass
from dataclasses import field

from tensorboard_plugin_tfcap.query import read_number
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.tradeoff.picture import print_figure

#: Formats and their content types.
FORMS = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
}
#: Least and greatest width in inches, and size of the font in points.
_WIDTHS, _SIZES = (1.5, 20.0), (4.0, 30.0)
_FONT = re.compile(r"[\w][\w .-]{0,59}")


@dataclass(frozen=True)
class Sheet:
    """Format of a file.

    Args:
        form: `"svg"`, `"pdf"` or `"png"`.
        width: Float, inches.
        size: Float, the font's, in points.
        font: String, a family.
        note: Boolean, whether a note below the figure says how to read it.
        ranges: Dict of pairs of floats by the layout's name of an axis, the
            range that a user has zoomed to. Defaults to none.

    Raises:
        QueryError: If an argument has an unknown value.
    """

    form: str
    width: float = 3.3
    size: float = 8.0
    font: str = "sans-serif"
    note: bool = True
    ranges: dict = field(default_factory=dict)

    def __post_init__(self):
        if self.form not in FORMS:
            raise QueryError(
                f"`format` must be one of {', '.join(FORMS)}. Received: "
                f"format={self.form!r:.40}."
            )
        for name, unit, value, (low, high) in (
            ("width", "inches", self.width, _WIDTHS),
            ("font_size", "points", self.size, _SIZES),
        ):
            number = isinstance(value, int | float)
            if not (number and low <= value <= high):
                raise QueryError(
                    f"`{name}` must be from {low:g} to {high:g} {unit}. "
                    f"Received: {name}={value!r:.40}."
                )
        if not _FONT.fullmatch(self.font):
            raise QueryError(
                "`font` must be the name of a font family, such as "
                "'serif' or 'Times New Roman'. Received: "
                f"font={self.font!r:.80}."
            )


def parse_sheet(arguments) -> Sheet:
    """Reads the format that a request asks for.

    Raises:
        QueryError: If an argument has an unknown value.

    Example:

    >>> from tensorboard_plugin_tfcap.picture_file import parse_sheet
    >>> sheet = parse_sheet({"format": "svg", "zoom": "xaxis=0,1.5"})
    >>> sheet.width, sheet.ranges
    (3.3, {'xaxis': (0.0, 1.5)})
    """
    given = {}
    for name, target in (("width", "width"), ("font_size", "size")):
        if text := arguments.get(name):
            given[target] = read_number(name, text)
    if font := arguments.get("font"):
        given["font"] = font
    if note := arguments.get("note"):
        given["note"] = note != "0"
    ranges = {}
    for part in filter(None, arguments.get("zoom", "")[:2000].split(";")):
        axis, _, ends = part.partition("=")
        pair = tuple(read_number("zoom", end) for end in ends.split(","))
        if len(pair) != 2 or not re.fullmatch(r"[xy]axis\d*", axis):
            raise QueryError(
                "`zoom` must be ranges such as xaxis=0,1;yaxis=2,3. Received: "
                f"zoom={part!r:.60}."
            )
        ranges[axis] = pair
    return Sheet(arguments.get("format", "svg"), **given, ranges=ranges)


def picture_bytes(shown, sheet: Sheet) -> bytes:
    """Prints a `Shown`, always on white, without hidden methods.

    Raises:
        ImportError: If Matplotlib is not installed.
        QueryError: If a font is not installed.
    """
    return print_figure(
        *(shown.view["figure"], sheet.form),
        *(72 * sheet.width, float(sheet.size), sheet.font),
        note=shown.note if sheet.note else "",
        # Metadata of the file, also where the note is not printed.
        about=shown.note,
        ranges=sheet.ranges,
    )
