"""Texts of a figure of Plotly, which interprets some HTML."""

import html
import textwrap


def marked(text: str, width: int | None = None) -> str:
    """Escapes a text for Plotly.

    Args:
        width: Integer, characters of a line. Defaults to `None`: one line.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.plotly_text import marked
    >>> marked("R&D <b>", 4)
    'R&amp;D<br>&lt;b&gt;'
    """
    lines = [text] if width is None else textwrap.wrap(text, width)
    return "<br>".join(html.escape(line, quote=False) for line in lines)


def unmarked(text: str) -> str:
    """Reverts `marked()`, in one line."""
    return html.unescape(text.replace("<br>", " "))
