"""Parts of a report: figures, tables and captions as HTML."""

import base64
import html
import json
import re

from tensorboard_plugin_tfcap.samples_view import read_picture
from tensorboard_plugin_tfcap.samples_view import samples_view
from tensorboard_plugin_tfcap.static_files import FOLDER
from tensorboard_plugin_tfcap.static_files import plotly_path

STYLE = """
body { max-width: 78rem; }
header p { overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .25rem; }
select { font: inherit; max-width: 100%; }
table { table-layout: auto; width: auto; margin: .5rem 0; }
td:not(:first-child), th:not(:first-child) { text-align: right; }
.wide { overflow-x: auto; }
.wide th { white-space: normal; vertical-align: bottom; }
.wide td:first-child { white-space: nowrap; }
ul { color: var(--quiet); font-size: .85rem; max-width: 60rem;
  padding-left: 1.2rem; }
.figure { flex: none; overflow-x: auto; }
.panels .plot { min-width: 56rem; }
.figure figcaption { max-width: 60rem; font-size: .85rem; }
.said { display: grid; gap: .75rem;
  grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); }
.said figure { flex: none; }
.said figcaption { line-height: 1.6; }
.false { position: relative; text-decoration: underline wavy 1.5px;
  text-decoration-color: light-dark(#a8200d, #ffb4a8);
  text-underline-offset: 3px; text-decoration-skip-ink: none; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }
"""
#: How many runs have their captions shown.
_MOST_RUNS = 40
#: How many omissions of a caption are listed.
_MOST_MISSING = 8
_BOUNDS = re.compile(r"\[(\S+), (\S+)\]")


def choice_html(views: dict[str, str]) -> list[str]:
    """A choice of views by title; the first one is shown."""
    options = "".join(
        f'<option value="{place}">{html.escape(title)}</option>'
        for place, title in enumerate(views)
    )
    first, *others = views.values()
    choice = (
        '<p><label for="tf-choice">Figure</label> <select id="tf-choice" '
        f'autocomplete="off">{options}</select></p>'
    )
    return [
        *[choice] * (len(views) > 1),
        f'<div id="tf-view">{first}</div><!-- others -->',
        *(
            f'<template data-view="{place}">{view}</template>'
            for place, view in enumerate(others, 1)
        ),
    ]


def scripts_html() -> list[str]:
    """Plotly's library, and the script that draws figures.

    Raises:
        FileNotFoundError: If Plotly is not installed.
    """
    library = plotly_path()
    if library is None:
        raise FileNotFoundError(
            "A report needs Plotly, which is absent. Run: pip install plotly"
        )
    parts = []
    for path in (library, f"{FOLDER}/report.js"):
        with open(path, encoding="utf-8") as file:
            parts.append(f"<script>{file.read()}</script>")
    return parts


def figure_html(shown) -> str:
    """The figure of a `Shown` in light and dark, as data."""
    text = json.dumps([shown.plotly(), shown.plotly(dark=True)])
    # Without `<`, nothing in it can end the element.
    text = text.replace("<", "\\u003c")
    kind = "figure panels" if len(shown.view["panels"]) > 1 else "figure"
    return (
        f'<figure class="{kind}"><div class="plot"></div>'
        f'<script type="application/json">{text}</script>'
        f"<figcaption>{html.escape(shown.note)} A method that is hidden by "
        "the legend still counts in the tables; --hide leaves it out."
        "</figcaption></figure>"
    )


def view_html(shown) -> str:
    """A figure with its tables and remarks."""
    *tables, points = shown.tables
    notices = dict.fromkeys(shown.view["notices"])
    remarks = "".join(
        f"<li>{html.escape(text)}</li>"
        for text in notices
        if text not in shown.notices
    )
    if remarks:
        remarks = (
            f"<details><summary>Remarks</summary><ul>{remarks}</ul></details>"
        )
    return (
        f"<h2>{html.escape(shown.title)}</h2>"
        f"{figure_html(shown)}{remarks}"
        f"{''.join(map(table_html, tables))}"
        "<details><summary>The figure as a table</summary>"
        f"{table_html(points)}</details>"
    )


def error_html(error) -> str:
    """The reason why there is no figure."""
    return f"<p>{html.escape(str(error))}</p>"


def table_html(table) -> str:
    """A `TradeoffTable` as HTML.

    Example:

    >>> from tensorboard_plugin_tfcap.report_parts import table_html
    >>> from tensorboard_plugin_tfcap.tradeoff import TradeoffTable
    >>> found = table_html(TradeoffTable("a", "b", ["<x>"], [["1"]], []))
    >>> "&lt;x&gt;" in found
    True
    """
    # An empty heading is not a heading.
    tags = ["th" if text else "td" for text in table.head]
    head = "".join(
        f"<{tag}>{html.escape(text)}</{tag}>"
        for tag, text in zip(tags, table.head)
    )
    best = {tuple(cell) for cell in table.best}
    lines = []
    for number, row in enumerate(table.rows):
        # An interval stays on one line.
        cells = [_BOUNDS.sub("[\\1,\u00a0\\2]", html.escape(t)) for t in row]
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
        f'<h2>{title}</h2><div class="wide" tabindex="0" role="region" '
        f'aria-label="{title}"><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{''.join(lines)}</tbody></table></div>"
        + (f"<ul>{notes}</ul>" if notes else "")
    )


def samples_html(log, rows: list[dict]):
    """Captions of runs, with their pictures."""
    runs = {}
    for row in rows:
        spoken = [run for run in row["runs"] if run["samples"]]
        if spoken and not row["hidden"]:
            runs[spoken[0]["run"]] = row, spoken[0]
    parts = []
    for name, (row, run) in list(runs.items())[:_MOST_RUNS]:
        page = samples_view(log, name, run["step"], 0, {})
        cards = [_card(log, name, page["step"], i) for i in page["items"]]
        notices = list(page["notices"])
        if len(cards) < page["count"]:
            notices.append(
                f"Only the first {len(cards)} of {page['count']} captions."
            )
        cards += [f"<p>{html.escape(text)}</p>" for text in notices]
        title = html.escape(_whose(row, run, page["step"]))
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


def _whose(row, run, step):
    """A row, with its run and step where they differ from the row's."""
    parts = [row["method"], row["label"]]
    if len(row["runs"]) > 1:
        parts.append(f"seed {run['seed']}" if run["seed"] else run["run"])
    if step is None:
        parts.append(f"none up to step {run['step']}")
    elif step != run["step"]:
        parts.append(f"step {step}")
    return ", ".join(filter(None, parts))


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
        f'<span class="number">Human: {html.escape(text)}</span>'
        for text in item["human"][:2]
    )
    caption = "".join(map(_piece, item["pieces"])) or "(empty caption)"
    return (
        f"<figure>{shown}<figcaption>{caption}{rank}{_judged(item)}{human}"
        "</figcaption></figure>"
    )


def _piece(piece):
    """A part of a caption, marked where it is false."""
    text, wrong = map(html.escape, piece)
    if not wrong:
        return text
    return (
        f'<span class="false" title="False: {wrong}">{text}'
        '<span class="unseen"> (false)</span></span>'
    )


def _judged(item):
    """Counts of true claims, the false claims, and what is missing, as HTML."""
    claims, lines = item["claims"], []
    if claims is not None:
        lines.append(f"{claims['true']} of {claims['count']} claims true")
        if claims["false"]:
            lines.append(f"False: {'; '.join(claims['false'])}")
    if missing := item["missing"]:
        more = len(missing) - _MOST_MISSING
        several = f"; and {more} more" if more > 0 else ""
        lines.append(f"Missing: {'; '.join(missing[:_MOST_MISSING])}{several}")
    return "".join(
        f'<span class="number">{html.escape(line)}</span>' for line in lines
    )
