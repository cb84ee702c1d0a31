"""Docstrings of the house as Markdown, while griffe reads them."""

import pathlib
import re
import sys

import griffe

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from references import linked

#: Sections whose text griffe is not to take apart, and their headings.
PLAIN = re.compile(
    r"(Example|Examples|Reference|References|Returns|Yields|Call arguments):$"
)


def as_markdown(text: str) -> str:
    """Turns a docstring into one whose examples and headings are Markdown.

    Args and raised errors are left to griffe, which sets their types.
    """
    lines, block, section = [], None, None
    for line in text.splitlines():
        heading = PLAIN.match(line)
        if line and not line.startswith(" "):
            section = heading[1] if heading else None
        if block is None and line.lstrip().startswith(">>> "):
            block = line[: len(line) - len(line.lstrip())]
            block = "" if section else block
            lines.append(f"{block}```pycon")
        elif block is not None and not line.strip():
            lines.append(f"{block}```")
            block = None
        if heading:
            lines += ["", f"**{heading[1]}**", ""]
        elif section == "Call arguments":
            # `name: description` at four spaces is an item of a list.
            item = re.match(r"    (\S[^:]*): (.*)", line)
            line = f"- `{item[1]}`: {item[2]}" if item else line[4:]
            lines.append(line if item or not line else f"  {line.lstrip()}")
        else:
            lines.append(line.removeprefix("    ") if section else line)
    if block is not None:
        lines.append(f"{block}```")
    return linked("\n".join(lines))


class HouseDocstrings(griffe.Extension):
    """Rewrites each docstring before it is parsed."""

    def on_instance(self, *, obj: griffe.Object, **kwargs) -> None:
        if obj.docstring is not None and not obj.is_alias:
            obj.docstring.value = as_markdown(obj.docstring.value)
