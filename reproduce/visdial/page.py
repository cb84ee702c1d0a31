"""A page of images and what was said about them, for people to look at."""

import html

import numpy as np

from reproduce.visdial.tables import MORE_TITLES
from reproduce.visdial.tables import TITLES
from reproduce.visdial.tables import figure_cells
from reproduce.visdial.tables import figure_notes
from tensorboard_plugin_tfcap.html_page import picture
from tensorboard_plugin_tfcap.html_page import write_html

_STYLE = """
article th:first-child { width: 34%; }
.figures th, .figures td { white-space: normal; }
"""


def write_page(
    path,
    study,
    rows=("hciae_g_mle", "hciae_g_dis"),
    dialogs=12,
    note="",
    results=None,
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
        results: Dict of `DialogStudy.result()` by row, to print the rows'
            figures above the dialogs. Defaults to `None`, no figures.
    """
    test, data = study.data.test, study.data
    dialogs = min(dialogs, len(test))
    said = {row: study.answers(row, limit=dialogs) for row in rows}
    names = [_name(row) for row in rows]
    cards = _figures(rows, names, results or {})
    for place in range(dialogs):
        ours = slice(place * test.rounds, (place + 1) * test.rounds)
        answers = [said[row][ours] for row in rows]
        cards.append(_card(data, place, names, answers))
    title = f"What {' and '.join(names)} answer"
    write_html(path, title, _legend(data, names, note), cards, _STYLE)


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


def _figures(rows, names, results):
    """A table of the rows' generative figures, in a list, if there are."""
    found = {row: results.get(row, {}) for row in rows}
    if not any("generative" in result for result in found.values()):
        return []
    lines = []
    for row, name in zip(rows, names):
        cells = figure_cells(found[row].get("generative", {}))
        cells = "</td><td>".join([html.escape(name), *cells])
        lines.append(f"<tr><td>{cells}</td></tr>")
    head = "</th><th>".join(["row", *TITLES, *MORE_TITLES])
    return [
        '<section class="scroll"><table class="figures"><thead>',
        f"<tr><th>{head}</th></tr></thead><tbody>",
        *lines,
        "</tbody></table>",
        *(f"<p>{html.escape(text)}</p>" for text in figure_notes(found)),
        "</section>",
    ]


def _name(row):
    """As the paper prints it, less the encoder: `hciae_g_dis` is G-DIS."""
    return row.removeprefix("hciae_").replace("_", "-").upper()


def _card(data, place, names, answers):
    test = data.test
    decode = test.vocabulary.decode
    rows = np.array([place])
    questions, truths = test.question(rows)[0], test.answer(rows)[0]
    caption = decode(test.captions[place])
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
            picture(data.test_images(place), caption),
            f'<figcaption><span class="number">image '
            f"{int(test.image_ids[place])}</span>{html.escape(caption)}"
            "</figcaption>",
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
