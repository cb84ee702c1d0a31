"""Texts of Plotly's figure, in which it reads some HTML."""

import html
import textwrap


def marked(text: str, width: int | None = None) -> str:
    """A text as Plotly takes it: what looks like HTML is read as written.

    Args:
        width: Integer, letters of a line. Defaults to `None`: one line.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.plotly_text import marked
    >>> marked("R&D <b>", 4)
    'R&amp;D<br>&lt;b&gt;'
    """
    lines = [text] if width is None else textwrap.wrap(text, width)
    return "<br>".join(html.escape(line, quote=False) for line in lines)


def unmarked(text: str) -> str:
    """Text that `marked()` was given, in one line."""
    return html.unescape(text.replace("<br>", " "))
