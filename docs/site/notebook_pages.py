"""Pages of notebooks: text, code, and what it printed and drew."""

import base64
import json
import pathlib


def notebook_page(path: pathlib.Path) -> tuple[str, dict[str, bytes]]:
    """Turns a notebook into Markdown.

    Args:
        path: Path of a `.ipynb` file.

    Returns:
        Markdown, and dict of name to content of the pictures that it shows.
    """
    cells = json.loads(path.read_text())["cells"]
    parts, pictures = [], {}
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            if output.get("name") == "stderr":
                continue
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}_{number}.png"
                pictures[name] = base64.b64decode(data["image/png"])
                parts.append(f"![{_caption(source)}]({name})")
                continue
            text = "".join(output.get("text", data.get("text/plain", "")))
            if text.strip():
                parts.append(f"```text\n{text.rstrip()}\n```")
    title, _, rest = parts[0].partition("\n")
    note = f"This page is a notebook: [{path.name}]({path.name})."
    return "\n\n".join([title, note, rest.strip(), *parts[1:], ""]), pictures


def _caption(source):
    """Alternative text of a picture: the first comment of its cell."""
    first = source.split("\n")[0]
    return first.removeprefix("#").strip() if first[:1] == "#" else "Figure"
