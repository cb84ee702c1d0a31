"""The tables of Best of Both Worlds, published and found."""

import numpy as np

from reproduce.visdial.rows import ABLATIONS
from tensorboard_plugin_tfcap.tradeoff import markdown_table
from tfcap.decoding import Sample
from tfcap.layers import GumbelSoftmaxST

#: Metrics that the paper prints.
COLUMNS = ("mrr", "r@1", "r@5", "r@10", "mean_rank")
TITLES = ("MRR", "R@1", "R@5", "R@10", "Mean")

#: Metrics that it does not: VisDial v1.0's own, and the control of the image.
MORE_COLUMNS = ("ndcg", "mrr_other_images")
MORE_TITLES = ("NDCG", "MRR, other images")

#: Said below figures without NDCG.
NO_NDCG = (
    "NDCG is absent: the data have no dense annotations, which say of every "
    "option how relevant it is."
)
#: Said below figures of the control.
OTHER_IMAGES = (
    '"MRR, other images" is the control: every dialog is ranked with the '
    "image of another dialog. What MRR loses there is what a network has of "
    "the image."
)

#: Published figures on VisDial v0.9 test, Tables 1, 2 and 4.
PUBLISHED_FIGURES = {
    "generative": {
        "lf_g": (0.5199, 41.83, 61.78, 67.59, 17.07),
        "hrea_g": (0.5242, 42.28, 62.33, 68.17, 16.79),
        "mn_g": (0.5259, 42.29, 62.85, 68.88, 17.06),
        "hciae_g_mle": (0.5386, 44.06, 63.55, 69.24, 16.01),
        "hciae_g_dis": (0.5467, 44.35, 65.28, 71.55, 14.23),
        "hciae_gan1": (0.5298, 43.12, 62.74, 68.58, 16.25),
        "hciae_gan2": (0.5459, 44.33, 65.05, 71.40, 14.34),
    },
    "discriminative": {
        "lf_d": (0.5807, 43.82, 74.68, 84.07, 5.78),
        "hrea_d": (0.5868, 44.82, 74.81, 84.36, 5.66),
        "mn_d": (0.5965, 45.55, 76.22, 85.37, 5.46),
        "hciae_d_mle": (0.6140, 47.73, 77.50, 86.35, 5.15),
        "hciae_d_np": (0.6182, 47.98, 78.35, 87.16, 4.92),
        "hciae_d_np_att": (0.6222, 48.48, 78.75, 87.59, 4.81),
        "hciae_gan1": (0.2177, 8.82, 32.97, 52.14, 18.53),
        "hciae_gan2": (0.6050, 46.20, 77.92, 87.20, 4.97),
    },
}

#: Tables of the paper: title, player, rows.
TABLES = (
    (
        "Table 1: generative",
        "generative",
        (
            "answer_prior",
            "lf_g",
            "hrea_g",
            "mn_g",
            "hciae_g_mle",
            "hciae_g_mle_control",
            "hciae_g_dis",
        ),
    ),
    (
        "Table 2: discriminative",
        "discriminative",
        (
            "answer_prior",
            "lf_d",
            "hrea_d",
            "mn_d",
            "hciae_d_mle",
            "hciae_d_np",
            "hciae_d_np_att",
        ),
    ),
    (
        "Table 4: both learners learning, discriminative",
        "discriminative",
        ("hciae_d_np_att", "hciae_gan1", "hciae_gan2"),
    ),
    (
        "Table 4: both learners learning, generative",
        "generative",
        ("hciae_g_dis", "hciae_gan1", "hciae_gan2"),
    ),
)


def dialog_tables(results, data: str) -> str:
    """The paper's Tables 1, 2 and 4 beside what was found."""
    head = ["row", *TITLES, *MORE_TITLES]
    head += [f"published {title}" for title in TITLES]
    blocks = []
    for title, player, rows in (*TABLES, *_ablations(results)):
        lines = []
        for row in rows:
            figures = results.get(row, {}).get(player, {})
            published = PUBLISHED_FIGURES[player].get(row, ())
            published = dict(zip(COLUMNS, published))
            cells = figure_cells(figures) + figure_cells(published, COLUMNS)
            lines.append([row, *cells])
        blocks.append(
            f"{title}. Found on: {data}. Published: on VisDial v0.9, the "
            f"paper's own figures.\n\n{markdown_table(head, lines)}"
        )
    blocks += figure_notes(results)
    return "\n\n".join([*blocks, *_answers(results, data)])


def _ablations(results):
    """Tables of the rows that the paper has not, of those that were trained."""
    for player in PUBLISHED_FIGURES:
        rows = [row for row in ABLATIONS if player in results.get(row, {})]
        if rows:
            yield f"Not in the paper: ablations, {player}", player, rows


def figure_cells(figures, names: str = COLUMNS + MORE_COLUMNS) -> list[str]:
    """Figures as the tables print them, a dash for each that is absent."""
    digits = {"mrr": 4, "ndcg": 4, "mrr_other_images": 4}
    return [
        f"{figures[name]:.{digits.get(name, 2)}f}" if name in figures else "-"
        for name in names
    ]


def figure_notes(results) -> list[str]:
    """Sentences that figures need: what is absent, what the control is."""
    groups = [
        figures
        for result in results.values()
        for player, figures in result.items()
        if player != "answers"
    ]
    notes = []
    if groups and not any("ndcg" in figures for figures in groups):
        notes.append(NO_NDCG)
    if any("mrr_other_images" in figures for figures in groups):
        notes.append(OTHER_IMAGES)
    return notes


def sample_table(
    experiment, seeds=(1, 2, 3), dialogs=3, rounds: int = 2
) -> str:
    """The paper's Table 3: answers of G-DIS for different Gumbel noise.

    Greedy answers of `hciae_g_mle` stand beside samples of `hciae_g_dis`, for
    the last questions of the first test dialogs: by then a dialog is about
    something.

    Args:
        dialogs: Integer, at most how many dialogs. Defaults to `3`.

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, Table 3
    """
    test, temperature = experiment.data.test, experiment.settings.temperature
    dialogs, length = min(dialogs, len(test)), test.answers.shape[1]
    by_row = {"G-MLE": experiment.answers("hciae_g_mle", limit=dialogs)}
    for seed in seeds:
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
            words += [
                answers[d * test.rounds + r] for answers in by_row.values()
            ]
            lines.append([word.replace("|", "/") or "-" for word in words])
    table = markdown_table(["question", "human", *by_row], lines, numbers=False)
    title = "Table 3: answers sampled with different Gumbel noise z"
    return f"{title}. Found on: {experiment.data.name}.\n\n{table}"


def _answers(results, data):
    """A table of statistics of the generators' answers, if there are."""
    rows = {
        row: result["answers"]
        for row, result in results.items()
        if "answers" in result
    }
    if not rows:
        return []
    names = list(next(iter(rows.values())))
    head = ["row", *(name.replace("_", " ") for name in names)]
    lines = [
        [row, *(f"{values[name]:.4g}" for name in names)]
        for row, values in rows.items()
    ]
    title = f"Greedy answers on the test split. Found on: {data}."
    return [f"{title}\n\n{markdown_table(head, lines)}"]
