"""Figures as parts of pages: drawings of three widths, and a little script."""

import html
import re

from tensorboard_plugin_tfcap.drawing.svg import svg_text
from tensorboard_plugin_tfcap.drawing.svg import variable
from tensorboard_plugin_tfcap.static_files import FOLDER
from tensorboard_plugin_tfcap.tradeoff.style import DARK
from tensorboard_plugin_tfcap.tradeoff.style import LIGHT

#: Widths, the greatest height of a panel and its share of the width: the one
#: that is shown hangs on the room that there is.
_SIZES = ((1080, 440, 0.62), (640, 400, 0.7), (360, 330, 0.95))
_FONT = 'system-ui, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif'
_STYLE = f"""
.tf {{ container-type: inline-size; margin: 0 0 1rem; flex: none; }}
.tf svg {{ display: block; width: 100%; height: auto; font-family: {_FONT}; }}
.tf > div {{ padding: .5rem; background: var({variable(LIGHT.paper)}); }}
.tf-1, .tf-2 {{ display: none; }}
.tf-0 {{ max-width: 1180px; }} .tf-2 {{ max-width: 460px; }}
@container (max-width: 859px) {{ .tf-0 {{ display: none; }}
  .tf-1 {{ display: block; }} }}
@container (max-width: 499px) {{ .tf-1 {{ display: none; }}
  .tf-2 {{ display: block; }} }}
.tf figcaption {{ max-width: 60rem; font-size: .85rem; margin-top: .4rem; }}
.tf .legend {{ cursor: pointer; }}
.tf .tf-dim {{ opacity: .15; }} .tf .legend.tf-dim {{ opacity: .6; }}
.tf .tf-off:not(.legend) {{ display: none; }}
.tf .legend.tf-off {{ opacity: .35; text-decoration: line-through; }}
.tf-card {{ position: fixed; z-index: 9; max-width: 22rem; padding: .4rem .6rem;
  background: Canvas; color: CanvasText; border: 1px solid GrayText;
  border-radius: .3rem; font: 13px/1.4 {_FONT}; overflow-wrap: anywhere;
  pointer-events: none; box-shadow: 0 2px 8px #0003; }}
"""
_COLOR = re.compile(r"#[0-9a-fA-F]{3,8}$")


def figure_html(shown, colors) -> str:
    """The figure of a `Shown`, wide, middle and narrow.

    Args:
        colors: As of `color_pairs()`.
    """
    parts = []
    for place, (width, tallest, ratio) in enumerate(_SIZES):
        drawing = shown.drawing(
            *(width, 13.0),
            titles=shown.cards,
            tallest=tallest,
            ratio=ratio,
        )
        svg = svg_text(drawing, colors)
        parts.append(f'<div class="tf-{place}">{svg}</div>')
    note = html.escape(shown.note)
    hidden = (
        ' <span class="tf-hidden" hidden>A method that is hidden here still '
        "counts in the tables: the option hide leaves it out.</span>"
    )
    return (
        f'<figure class="tf">{"".join(parts)}'
        f"<figcaption>{note}{hidden}</figcaption></figure>"
    )


def color_pairs(shown) -> dict[str, str]:
    """Colors of a figure on light paper, and what each is on dark paper."""
    light, dark = vars(LIGHT), vars(DARK)
    pairs = {color: dark[name] for name, color in light.items()}
    _collect(shown.view["figure"], shown.dark, pairs)
    return pairs


def figure_style(colors, dark: bool | None = None) -> str:
    """Style of all figures of a page.

    Args:
        dark: Boolean, on which paper they are; `None` for that which the
            reader's system prefers.
    """
    light, night = (
        "".join(f"{variable(pair[0])}:{pair[i]};" for pair in colors.items())
        for i in (0, 1)
    )
    own = {None: light, False: light, True: night}[dark]
    style = f"{_STYLE}.tf {{ {own} }}\n"
    if dark is None:
        style += (
            f"@media (prefers-color-scheme: dark) {{ .tf {{ {night} }} }}\n"
        )
    return style


def figure_script() -> str:
    """Script of all figures of a page; a second one does nothing."""
    with open(f"{FOLDER}/shown.js", encoding="utf-8") as file:
        return f"<script>{file.read()}</script>"


def _collect(light, dark, pairs):
    if isinstance(light, dict):
        for name in light.keys() & dark.keys():
            _collect(light[name], dark[name], pairs)
    elif isinstance(light, list):
        for one, other in zip(light, dark):
            _collect(one, other, pairs)
    elif isinstance(light, str) and _COLOR.match(light):
        if isinstance(dark, str) and _COLOR.match(dark):
            pairs.setdefault(light, dark)
