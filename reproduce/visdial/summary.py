"""Tables of one or several seeds: means, intervals, paired differences."""

import math

from reproduce.visdial.rows import ABLATIONS
from tensorboard_plugin_tfcap.tradeoff import markdown_table
from tfcap._io import read_json
from tfcap.curves import mean_interval

#: Groups of figures, and the tables of the paper that have them.
GROUPS = {
    "generative": "Tables 1 and 4, generative",
    "discriminative": "Tables 2 and 4, discriminative",
    "answers": "Greedy answers",
}
#: Metrics that are also measured with the images of other dialogs.
CONTROLLED = ("mrr", "ndcg")
OTHER = "_other_images"
#: Metrics that the paper prints.
PRINTED = ("mrr", "r@1", "r@5", "r@10", "mean_rank")
_RANKING = (*PRINTED, "ndcg", *(name + OTHER for name in CONTROLLED))
_TRUTH = ("true", "partly", "evasive", "false", "empty")
_METRICS = {
    "generative": _RANKING,
    "discriminative": _RANKING,
    "answers": (
        "distinct",
        "distinct_share",
        "corpus_share",
        "mean_length",
        "yes_no_share",
        # Where the data know what is true.
        *(f"{name}_share" for name in _TRUTH),
    ),
}
#: The paper's own figures on VisDial v0.9 test, of Tables 1, 2 and 4.
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
#: Rows and those that they are compared with: the paper's comparisons, and
#: those of the ablations.
_ABLATED = [
    (row, "hciae_g_dis") for row in ABLATIONS if row.startswith("hciae_g_dis")
]
COMPARISONS = {
    "generative": [
        ("hciae_g_dis", "hciae_g_mle_control"),
        ("hciae_g_dis", "hciae_g_mle"),
        ("hciae_g_dis", "answer_prior"),
        ("hciae_g_mle", "answer_prior"),
        ("hciae_g_mle", "lf_g"),
        ("hciae_g_mle", "hrea_g"),
        ("hciae_g_mle", "mn_g"),
        ("hciae_gan2", "hciae_g_dis"),
        *_ABLATED,
    ],
    "discriminative": [
        ("hciae_d_np_att", "answer_prior"),
        ("hciae_d_np_att", "hciae_d_np"),
        ("hciae_d_np_att", "hciae_d_mle"),
        ("hciae_d_np", "hciae_d_mle"),
        ("hciae_d_mle", "lf_d"),
        ("hciae_d_mle", "hrea_d"),
        ("hciae_d_mle", "mn_d"),
        ("hciae_gan1", "hciae_d_np_att"),
        ("hciae_gan2", "hciae_d_np_att"),
    ],
    "answers": [
        ("hciae_g_dis", "hciae_g_mle_control"),
        ("hciae_g_dis", "hciae_g_mle"),
        ("hciae_gan2", "hciae_g_mle_control"),
        *_ABLATED,
    ],
}
#: Records of the figures on the paper's page.
RESULTS = (
    "results/visdial_world.json",
    "results/visdial_truth.json",
    "results/visdial_real.json",
)
_NOTE = (
    "`ndcg` needs dense annotations, the relevance of every option. "
    "`mrr_other_images` is a control: every dialog is ranked with the image of "
    "another one, and the loss of MRR shows how much a network uses the image. "
    "The paper's figures are on VisDial v0.9."
)


def summarize(runs: list[dict]) -> dict:
    """Means over the seeds of an experiment.

    Args:
        runs: List of the `DialogExperiment.report()` of each seed.

    Returns:
        Dict of `"rows"`, figures by group, row and metric. A figure is a dict
        of `mean`, `low`, `high`, the 95 percent interval, and `values`, one
        for each seed. Bounds of one value are `None`.
    """
    rows = {}
    for row, groups in runs[0]["rows"].items():
        for group, having in groups.items():
            rows.setdefault(group, {})[row] = {
                name: _figure([run["rows"][row][group][name] for run in runs])
                for name in _METRICS[group]
                if name in having
            }
    return {"rows": rows}


def _figure(values):
    mean, low, high = mean_interval(values)
    # JSON has no infinity.
    low, high = (x if math.isfinite(x) else None for x in (low, high))
    return {"mean": mean, "low": low, "high": high, "values": values}


def summary_tables(summary: dict) -> str:
    """The summary as Markdown tables: `mean [low, high]`.

    Scores stand beside the paper's. Then follow differences between rows, and
    between rankings with a dialog's own image and with another one's, both
    paired by seed.
    """
    blocks, paired = [], "paired difference by seed and 95 % interval"
    for group, title in GROUPS.items():
        rows = summary["rows"].get(group, {})
        gaps = {
            f"{row} - {against}": _less(rows[row], rows[against])
            for row, against in COMPARISONS[group]
            if row in rows and against in rows
        }
        images = {
            row: _less(metrics, metrics, OTHER)
            for row, metrics in rows.items()
            if any(name.endswith(OTHER) for name in metrics)
        }
        own = f"{title}: own images less other dialogs' images, {paired}"
        blocks += [
            _block(f"{title}: mean and 95 % interval", rows, paper=group),
            _block(f"{title}: {paired}", gaps, "+"),
            _block(own, images, "+"),
        ]
    return "\n\n".join([*filter(None, blocks), _NOTE])


def tables_of_runs(paths) -> str:
    """The tables of summaries in files, such as `summary.json` of a run."""
    return "\n\n".join(summary_tables(read_json(path)) for path in paths)


def example_tables(paths) -> str:
    """The tables of `results.json` of the example, one file a seed."""
    runs = [read_json(path) for path in paths]
    rows = {
        row: {
            name: _figure([run[row][name] for run in runs])
            for name in scores
            if name != "count"
        }
        for row, scores in runs[0].items()
    }
    gaps = {
        f"hciae_g_dis - {row}": _less(rows["hciae_g_dis"], rows[row])
        for row in ("hciae_g_mle", "hciae_g_mle_control")
    }
    title = "Paired difference by seed and 95 % interval"
    means = _block("Mean and 95 % interval", rows)
    return f"{means}\n\n{_block(title, gaps, '+')}"


def _less(one, other, suffix=""):
    """Differences by seed of metrics that both have, controls left out."""
    found = {}
    for name, figure in one.items():
        if name + suffix in other and not name.endswith(OTHER):
            values = figure["values"], other[name + suffix]["values"]
            gaps = [a - b for a, b in zip(*values, strict=True)]
            found[name] = _figure(gaps)
    return found


def _block(title, rows, sign="", paper=None):
    """A table under its title, with columns of the paper's for a group."""
    if not rows:
        return ""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    published = PUBLISHED_FIGURES.get(paper, {})
    printed = PRINTED if published else ()
    head = ["row", *names, *(f"paper {name}" for name in printed), "seeds"]
    lines = []
    for label, values in rows.items():
        own = dict(zip(PRINTED, published.get(label, ())))
        lines.append(
            [
                label,
                *(_cell(name, values.get(name), sign) for name in names),
                *(_digits(name, own[name]) if own else "-" for name in printed),
                str(max(len(figure["values"]) for figure in values.values())),
            ]
        )
    return f"{title}\n\n{markdown_table(head, lines)}"


def _cell(name, figure, sign):
    if figure is None:
        return "-"
    text = _digits(name, figure["mean"], sign)
    if figure["low"] is None:
        return text
    low, high = (
        _digits(name, figure[bound], sign) for bound in ("low", "high")
    )
    return f"{text} [{low}, {high}]"


def _digits(name, value, sign=""):
    fine = name.startswith(CONTROLLED) or name.endswith("share")
    return f"{value:{sign}.{4 if fine else 2}f}"
