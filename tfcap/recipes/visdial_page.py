"""A page of images and what was said about them, for people to look at."""

import base64
import html
import io

import numpy as np
from PIL import Image

# Wider pictures are made smaller, so that a page of real photographs opens.
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
figcaption { margin-top: .6rem; }
.number { color: var(--quiet); font-size: .85rem; display: block; }
.scroll { flex: 1 1 26rem; min-width: 0; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th:first-child { width: 34%; }
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


def write_page(
    path, study, rows=("hciae_g_mle", "hciae_g_dis"), dialogs=12, note=""
):
    """Writes test images with their dialogs and what generators answer.

    One HTML file that needs nothing else: pictures are inside, texts are
    escaped. Signs, and not colors alone, tell what differs.

    Args:
        path: String or path of the file.
        study: `DialogStudy` that has, or will train, the rows. Its data's
            `test_images` gives the pictures; where there are none, the page
            has none.
        rows: Strings, generators to set side by side; the others' answers are
            marked where they differ from the first one's.
        dialogs: Integer, at most how many dialogs. Defaults to `12`.
        note: String to put under the title.
    """
    test, data = study.data.test, study.data
    dialogs = min(dialogs, len(test))
    said = {row: study.answers(row, limit=dialogs) for row in rows}
    names = [_name(row) for row in rows]
    cards = []
    for place in range(dialogs):
        ours = slice(place * test.rounds, (place + 1) * test.rounds)
        answers = [said[row][ours] for row in rows]
        cards.append(_card(data, place, names, answers))
    title = f"What {' and '.join(names)} answer"
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<header><h1>{html.escape(title)}</h1>",
        *(f"<p>{html.escape(line)}</p>" for line in _legend(data, names, note)),
        "</header>",
        *cards,
        "</body></html>",
    ]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def _legend(data, names, note):
    lines = [note] if note else []
    lines.append(
        f"Test images of: {data.name}. Each dialog goes on from the human "
        "answers, whatever the models said before."
    )
    signs = "\u2713 reads like the human answer."
    if len(names) > 1:
        signs += f" \u2260 on a tinted ground: differs from {names[0]}'s."
    return [*lines, signs]


def _name(row):
    """As the paper prints it, less the encoder: `hciae_g_dis` is G-DIS."""
    return row.removeprefix("hciae_").replace("_", "-").upper()


def _card(data, place, names, answers):
    test = data.test
    decode = test.vocabulary.decode
    rows = np.array([place])
    questions, truths = test.question(rows)[0], test.answer(rows)[0]
    caption = html.escape(decode(test.captions[place]))
    body = []
    for r in range(test.rounds):
        if not questions[r].any():
            continue
        truth = decode(truths[r])
        cells = [decode(questions[r]), truth]
        cells = [html.escape(cell) for cell in cells]
        cells += [
            _said(answer[r], answers[0][r], truth, bool(k))
            for k, answer in enumerate(answers)
        ]
        body.append(f"<tr><td>{'</td><td>'.join(cells)}</td></tr>")
    head = ["question", "human", *names]
    return "\n".join(
        [
            "<article><figure>",
            _picture(data.test_images(place), caption),
            f'<figcaption><span class="number">image '
            f"{int(test.image_ids[place])}</span>{caption}</figcaption>",
            '</figure><div class="scroll"><table><thead>',
            f"<tr><th>{'</th><th>'.join(head)}</th></tr></thead><tbody>",
            *body,
            "</tbody></table></div></article>",
        ]
    )


def _said(answer, first, truth, compared):
    text = html.escape(answer) or "<i>(says nothing)</i>"
    if answer == truth:
        text += '&nbsp;<span title="as the human">\u2713</span>'
    if compared and answer != first:
        return f"<mark>\u2260&nbsp;{text}</mark>"
    return text


def _picture(image, caption):
    """The image in the page itself; small ones are drawn larger, crisply."""
    if image is None:
        return ""
    picture = Image.fromarray(np.asarray(image, "uint8"))
    small = ' class="small"' if picture.width < _WIDEST // 2 else ""
    picture.thumbnail((_WIDEST, _WIDEST))
    file = io.BytesIO()
    picture.save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode("ascii")
    source = f"data:image/png;base64,{data}"
    return f'<img{small} src="{source}" alt="{caption}">'
