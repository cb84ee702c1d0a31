"""Widths of texts, before anything knows the font that will be there."""

#: Shares of the font's size that letters are wide in Helvetica.
_WIDTHS = {
    **dict.fromkeys("'ijl", 0.22),
    **dict.fromkeys(" !,./:;I[]\\|ft", 0.28),
    **dict.fromkeys('()-`r{}"', 0.34),
    **dict.fromkeys("*^", 0.43),
    **dict.fromkeys("Jcksvxyz", 0.5),
    **dict.fromkeys("?_0123456789abdeghnopquL$#", 0.556),
    **dict.fromkeys("FTZ+<=>~", 0.6),
    **dict.fromkeys("ABEKPSVXY&", 0.667),
    **dict.fromkeys("CDHNRUw", 0.722),
    **dict.fromkeys("GOQ", 0.778),
    **dict.fromkeys("mM%", 0.87),
    "W": 0.944,
    "@": 1.015,
}
#: Of other fonts, DejaVu Sans is among the widest.
_SPARE = 1.12


def text_width(text: str, size: float, font: str = "sans-serif") -> float:
    """Width of a line of text, rather too wide than too narrow.

    Example:

    >>> from tensorboard_plugin_tfcap.drawing.text_size import text_width
    >>> text_width("WW", 10) > text_width("ii", 10)
    True
    """
    if "mono" in font.lower() or "courier" in font.lower():
        return 0.61 * size * len(text)
    return _SPARE * size * sum(_width(letter) for letter in text)


def fit(text: str, width: float, size: float, font: str) -> list[str]:
    """Lines of a text, none wider than a width where words allow that."""
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and text_width(longer, size, font) > width:
            lines.append(line)
            longer = word
        line = longer
    return [*lines, line] if line else lines


def shortened(text: str, width: float, size: float, font: str) -> str:
    """A text, or its beginning and an ellipsis where it is too wide."""
    if text_width(text, size, font) <= width:
        return text
    while text and text_width(f"{text}\u2026", size, font) > width:
        text = text[:-1]
    return f"{text.rstrip()}\u2026"


def _width(letter):
    usual = 1.0 if ord(letter) > 0x2E7F else 0.6
    return _WIDTHS.get(letter, usual)
