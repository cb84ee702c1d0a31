"""A page of images and of what generators answer about them."""

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
    experiment,
    rows=("hciae_g_mle", "hciae_g_dis"),
    dialogs=12,
    note: str = "",
    results=None,
):
    """Writes test images with their dialogs and what generators answer.

    One HTML file that needs nothing else: pictures are inside, texts are
    escaped. Signs, and not colors alone, tell what differs.

    Args:
        experiment: `DialogExperiment` that has, or will train, the rows. Its
            data's `test_images` gives the pictures; where there are none, the
            page has none.
        rows: Strings, generators to set side by side; the others' answers are
            marked where they differ from the first one's.
        dialogs: Integer, at most how many dialogs. Defaults to `12`.
    """
    data, test = experiment.data, experiment.data.test
    dialogs = min(dialogs, len(test))
    answers = [experiment.answers(row, limit=dialogs) for row in rows]
    # As the paper prints them, less the encoder: `hciae_g_dis` is G-DIS.
    names = [r.removeprefix("hciae_").replace("_", "-").upper() for r in rows]
    cards = _figures(rows, names, results or {})
    for index in range(dialogs):
        own = slice(index * test.rounds, (index + 1) * test.rounds)
        cards.append(_card(data, index, names, [x[own] for x in answers]))
    signs = "\u2713 reads like the human answer."
    if len(names) > 1:
        signs += f" \u2260 on a tinted ground: differs from {names[0]}'s."
    legend = [note] if note else []
    legend += [
        f"Test images of: {data.name}. Each dialog goes on from the human "
        "answers, whatever the models said before.",
        signs,
    ]
    title = f"What {' and '.join(names)} answer"
    write_html(path, title, legend, cards, _STYLE)


def _table(head, rows, kind=""):
    """A table in HTML; the cells of `rows` are HTML already."""
    head = "</th><th>".join(head)
    body = [f"<tr><td>{'</td><td>'.join(cells)}</td></tr>" for cells in rows]
    return "\n".join(
        [
            f"<table{kind}><thead>",
            f"<tr><th>{head}</th></tr></thead><tbody>",
            *body,
            "</tbody></table>",
        ]
    )


def _figures(rows, names, results):
    """A table of the rows' generative figures, in a list, if there are."""
    by_row = {row: results.get(row, {}) for row in rows}
    if not any("generative" in result for result in by_row.values()):
        return []
    cells = [
        [html.escape(name), *figure_cells(by_row[row].get("generative", {}))]
        for row, name in zip(rows, names)
    ]
    head = ["row", *TITLES, *MORE_TITLES]
    return [
        '<section class="scroll">' + _table(head, cells, ' class="figures"'),
        *(f"<p>{html.escape(text)}</p>" for text in figure_notes(by_row)),
        "</section>",
    ]


def _card(data, index, names, answers):
    """An image with the questions about it, and all answers side by side."""
    test, decode = data.test, data.test.vocabulary.decode
    (questions,), (truths,) = test.question([index]), test.answer([index])
    caption = decode(test.captions[index])
    rows = []
    for r in np.flatnonzero(questions.any(axis=-1)):
        truth = decode(truths[r])
        cells = [html.escape(x) for x in (decode(questions[r]), truth)]
        for k, answer in enumerate(answers):
            text = html.escape(answer[r]) or "<i>(says nothing)</i>"
            if answer[r] == truth:
                text += '&nbsp;<span title="as the human">\u2713</span>'
            if k and answer[r] != answers[0][r]:
                text = f"<mark>\u2260&nbsp;{text}</mark>"
            cells.append(text)
        rows.append(cells)
    return "\n".join(
        [
            "<article><figure>",
            picture(data.test_images(index), caption),
            f'<figcaption><span class="number">image '
            f"{int(test.image_ids[index])}</span>{html.escape(caption)}"
            "</figcaption>",
            '</figure><div class="scroll">'
            + _table(["question", "human", *names], rows)
            + "</div></article>",
        ]
    )
