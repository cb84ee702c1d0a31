"""HTML pages that contain everything they show."""

import base64
import html
import io

import numpy as np

from tensorboard_plugin_tfcap.file_writer import write_whole

#: Pixels; wider pictures are scaled down, so that pages of photographs open.
_WIDEST = 480

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --quiet: #60666d;
  --line: #d9dde2; --page: #f5f6f8; --card: #fff; --mark: #fff0b8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed;
  --quiet: #a0a7af; --line: #3a4047; --page: #14171a; --card: #1f2328;
  --mark: #5a4708; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem; max-width: 74rem;
  background: var(--page); color: var(--ink);
  font: 15px/1.45 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
header p { color: var(--quiet); margin: .25rem 0; max-width: 60rem; }
article { display: flex; flex-wrap: wrap; gap: 1.25rem; margin: 1.25rem 0;
  padding: 1.25rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .6rem; break-inside: avoid; }
figure { margin: 0; flex: 0 0 256px; }
figure img { display: block; width: 100%; border-radius: .35rem;
  border: 1px solid var(--line); }
img.small { image-rendering: pixelated; }
figcaption { margin-top: .6rem; overflow-wrap: anywhere; }
.number { color: var(--quiet); font-size: .85rem; display: block; }
.scroll { flex: 1 1 26rem; min-width: 0; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
  border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; font-size: .85rem;
  white-space: nowrap; }
tbody tr:last-child td { border-bottom: 0; }
td:first-child, th:first-child { padding-left: 0; }
mark { background: var(--mark); color: inherit; padding: .05rem .3rem;
  border-radius: .25rem; font-weight: 600;
  -webkit-box-decoration-break: clone; box-decoration-break: clone; }
"""


def write_html(path, title: str, lines, body, style: str = ""):
    """Writes a page in the style of all pages.

    Args:
        body: Iterable of strings of HTML, escaped, with images inline.
    """
    title = html.escape(title)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}{style}</style></head><body>",
        f"<header><h1>{title}</h1>",
        *(f"<p>{html.escape(line)}</p>" for line in lines),
        "</header>",
        *body,
        "</body></html>",
    ]
    write_whole(path, ("\n".join(parts) + "\n").encode())


def picture(image, text: str) -> str:
    """HTML of an image, inline.

    Args:
        image: Integer array of shape `(height, width, 3)` or
            `(height, width)`; `None` shows nothing. Small images are enlarged
            without smoothing; large ones are scaled down, as JPEG.
    """
    if image is None:
        return ""
    # Imported here: TensorBoard starts without it.
    from PIL import Image

    drawn = Image.fromarray(np.asarray(image, "uint8"))
    small = drawn.width < _WIDEST // 2
    drawn.thumbnail((_WIDEST, _WIDEST))
    file, kind = io.BytesIO(), "png" if small else "jpeg"
    drawn.save(file, kind, **({} if small else {"quality": 85}))
    data = base64.b64encode(file.getvalue()).decode("ascii")
    source = f"data:image/{kind};base64,{data}"
    small = ' class="small"' if small else ""
    return f'<img{small} src="{source}" alt="{html.escape(text)}">'
