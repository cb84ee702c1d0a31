"""Parts of a report: figures, tables and captions as HTML."""

import base64
import html
import json

from tensorboard_plugin_tfcap.samples_view import read_picture
from tensorboard_plugin_tfcap.samples_view import samples_view
from tensorboard_plugin_tfcap.static_files import plotly_path

STYLE = """
body { max-width: 90rem; }
.plot { width: 100%; height: 620px; background: #fff; }
table { table-layout: auto; width: auto; margin: .5rem 0 1.5rem; }
td:not(:first-child), th:not(:first-child) { text-align: right; }
.wide { overflow-x: auto; }
.said { display: grid; gap: .75rem;
  grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); }
.said figure { flex: none; }
"""
#: Runs whose captions are shown, and how many.
_MOST_RUNS, _MOST_SAMPLES = 40, 8
_SCRIPT = """
const figures = JSON.parse(document.getElementById("figures").textContent);
const choice = document.getElementById("choice");
const plot = document.getElementById("plot");
function draw() {
  const { data, layout, config } = figures[choice.value];
  plot.style.height = `${layout.meta?.height ?? 620}px`;
  Plotly.react(plot, data, { ...layout, autosize: true },
    { ...config, edits: {} });
}
choice.addEventListener("change", draw);
draw();
"""


def figures_html(figures):
    """Figures to choose from, and the library that draws them.

    Raises:
        ImportError: If Plotly is not installed.
    """
    path = plotly_path()
    if path is None:
        raise ImportError(
            "Plotly draws the figure, and is not installed: pip install plotly."
        )
    with open(path, encoding="utf-8") as file:
        library = file.read()
    options = "".join(f"<option>{html.escape(t)}</option>" for t in figures)
    return [
        '<p><label>Figure <select id="choice">' + options + "</select></label>",
        '<div id="plot" class="plot"></div>',
        f"<script>{library}</script>",
        f'<script type="application/json" id="figures">{_json(figures)}'
        "</script>",
        f"<script>{_SCRIPT}</script>",
    ]


def table_html(table) -> str:
    """A `TradeoffTable` as HTML.

    Example:

    >>> from tensorboard_plugin_tfcap.report_parts import table_html
    >>> from tensorboard_plugin_tfcap.tradeoff import TradeoffTable
    >>> found = table_html(TradeoffTable("a", "b", ["<x>"], [["1"]], []))
    >>> "&lt;x&gt;" in found
    True
    """
    head = "".join(f"<th>{html.escape(text)}</th>" for text in table.head)
    best = {tuple(cell) for cell in table.best}
    lines = []
    for number, row in enumerate(table.rows):
        cells = [html.escape(text) for text in row]
        cells = [
            f"<td><b>{text}</b></td>"
            if (number, place) in best
            else f"<td>{text}</td>"
            for place, text in enumerate(cells)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in table.notes)
    title = html.escape(table.title[:1].upper() + table.title[1:])
    return (
        f'<h2>{title}</h2><div class="wide"><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{''.join(lines)}</tbody></table></div>"
        + (f"<ul>{notes}</ul>" if notes else "")
    )


def samples_html(log, rows: list[dict]):
    """Captions of runs, with their pictures."""
    runs = {
        run["run"]: row
        for row in rows
        for run in row["runs"][:1]
        if run["samples"]
    }
    parts = []
    for run, row in list(runs.items())[:_MOST_RUNS]:
        page = samples_view(log, run, None, 0, {})
        cards = [_card(log, run, page["step"], i) for i in page["items"]]
        title = html.escape(f"{row['method']}, {row['label']}")
        parts.append(
            f"<details><summary>Captions: {title}</summary>"
            f'<div class="said">{"".join(cards)}</div></details>'
        )
    if len(runs) > _MOST_RUNS:
        parts.append(
            f"<p>Captions of {len(runs) - _MOST_RUNS} more points "
            "are left out.</p>"
        )
    return parts


def _card(log, run, step, item):
    shown = ""
    if item["image"]:
        number = int(item["image"].rpartition("=")[2])
        image = read_picture(log, run, step, number)
        if image is not None:
            data = base64.b64encode(image[0]).decode("ascii")
            text = html.escape(item["id"])
            shown = f'<img src="data:{image[1]};base64,{data}" alt="{text}">'
    rank = "" if item["rank"] is None else f" (rank {item['rank']:g})"
    human = "".join(
        f'<span class="number">{html.escape(text)}</span>'
        for text in item["human"][:2]
    )
    caption = html.escape(item["caption"] or "(says nothing)")
    return (
        f"<figure>{shown}<figcaption>{caption}{rank}{human}</figcaption>"
        "</figure>"
    )


def _json(content):
    """JSON that ends no element of a page."""
    text = json.dumps(content, allow_nan=False)
    return text.replace("<", "\\u003c")
