"""Answers of generators: a page with images, and the paper's Table 3."""

import html

import numpy as np

from tensorboard_plugin_tfcap.html_page import picture
from tensorboard_plugin_tfcap.html_page import write_html
from tensorboard_plugin_tfcap.tradeoff import markdown_table
from tfcap.decoding import Sample
from tfcap.layers import GumbelSoftmaxST

#: Generators that are shown, and their names in the paper.
SHOWN = {"hciae_g_mle": "G-MLE", "hciae_g_dis": "G-DIS"}


def write_page(path, experiment, rows=tuple(SHOWN), dialogs=12, note=""):
    """Writes test images with their dialogs and the generators' answers.

    One HTML file with all pictures inside. Differences are marked by signs, and
    not by colors alone.

    Args:
        experiment: `DialogExperiment` of the rows. The `test_images` of its
            data give the pictures, if there are any.
        rows: Strings, of `SHOWN`; answers that differ from those of the first
            row are marked.
        dialogs: Integer, at most how many dialogs. Defaults to `12`.
    """
    data, test = experiment.data, experiment.data.test
    dialogs, names = min(dialogs, len(test)), [SHOWN[row] for row in rows]
    said = [
        np.reshape(experiment.answers(row, limit=dialogs), (dialogs, -1))
        for row in rows
    ]
    cards = [
        _card(data, index, names, [answers[index] for answers in said])
        for index in range(dialogs)
    ]
    signs = "\u2713 word for word the human answer."
    if len(names) > 1:
        signs += f" \u2260, highlighted: differs from {names[0]}'s answer."
    legend = [
        f"Test images of: {data.name}. The history of each question holds the "
        "human answers, not those of the models.",
        signs,
    ]
    title = f"Answers of {' and '.join(names)}"
    style = "article th:first-child { width: 34%; }"
    write_html(path, title, [note] * bool(note) + legend, cards, style)


def _card(data, index, names, answers):
    """An image with the questions about it, and all answers side by side."""
    test, decode = data.test, data.test.vocabulary.decode
    (questions,), (truths,) = test.question([index]), test.answer([index])
    caption = decode(test.captions[index])
    lines = [["question", "human", *names]]
    for r in np.flatnonzero(questions.any(axis=-1)):
        truth = decode(truths[r])
        lines.append([html.escape(x) for x in (decode(questions[r]), truth)])
        for k, answer in enumerate(answers):
            text = html.escape(answer[r]) or "<i>(empty)</i>"
            if answer[r] == truth:
                text += '&nbsp;<span title="as the human">\u2713</span>'
            if k and answer[r] != answers[0][r]:
                text = f"<mark>\u2260&nbsp;{text}</mark>"
            lines[-1].append(text)
    head, *body = lines
    return "\n".join(
        [
            f"<article><figure>{picture(data.test_images(index), caption)}",
            f'<figcaption><span class="number">image '
            f"{int(test.image_ids[index])}</span>{html.escape(caption)}"
            '</figcaption></figure><div class="scroll"><table><thead>',
            f"<tr><th>{'</th><th>'.join(head)}</th></tr></thead><tbody>",
            *(f"<tr><td>{'</td><td>'.join(x)}</td></tr>" for x in body),
            "</tbody></table></div></article>",
        ]
    )


def sample_table(experiment, dialogs: int = 3, rounds: int = 2) -> str:
    """The paper's Table 3: answers of G-DIS for different Gumbel noise.

    Greedy answers of `hciae_g_mle` beside samples of `hciae_g_dis`, for the
    last questions of the first test dialogs.

    Args:
        dialogs: Integer, at most how many dialogs. Defaults to `3`.

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, Table 3
    """
    test, temperature = experiment.data.test, experiment.settings.temperature
    dialogs, length = min(dialogs, len(test)), test.answers.shape[1]
    by_row = {"G-MLE": experiment.answers("hciae_g_mle", limit=dialogs)}
    for seed in (1, 2, 3):
        noise = GumbelSoftmaxST(temperature, seed=seed)
        by_row[f"G-DIS (z{seed})"] = experiment.answers(
            "hciae_g_dis", Sample(noise, max_length=length), dialogs
        )
    decode, index = test.vocabulary.decode, np.arange(dialogs)
    questions, truths = test.question(index), test.answer(index)
    lines = []
    for d in index:
        for r in np.flatnonzero(questions[d].any(axis=-1))[-rounds:]:
            words = [decode(questions[d, r]), decode(truths[d, r])]
            place = d * test.rounds + r
            words += [answers[place] for answers in by_row.values()]
            lines.append([word.replace("|", "/") or "-" for word in words])
    table = markdown_table(["question", "human", *by_row], lines, numbers=False)
    return "Table 3: answers sampled with different Gumbel noise z\n\n" + table
