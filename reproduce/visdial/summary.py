"""Several seeds of one experiment: means, intervals, paired differences.

    python -m reproduce visdial summary RUN [RUN ...] [--json FILE]
    python -m reproduce tables visdial [FILE]

The first reads the `results.json` of each run; the second prints the tables of
figures that the first wrote.
"""

import argparse
import json
import math
import os

from reproduce.visdial.rows import ABLATIONS
from reproduce.visdial.tables import NO_NDCG
from tensorboard_plugin_tfcap.tradeoff import markdown_table
from tfcap._io import command
from tfcap._io import whole_file
from tfcap.curves import mean_interval

RANKING = ("mrr", "r@1", "r@5", "r@10", "mean_rank", "ndcg")
#: Metrics that are also taken with every dialog's image another one's.
CONTROLLED = ("mrr", "ndcg")
OTHER = "_other_images"
_TRUTH = ("true", "partly", "evasive", "false", "empty")
ANSWERS = (
    "distinct",
    "distinct_share",
    "corpus_share",
    "mean_length",
    "yes_no_share",
    # Where the data know what is true.
    *(f"{name}_share" for name in _TRUTH),
)

#: The paper's comparisons, and those of the ablations: group of figures, row,
#: and the row it is set against.
COMPARISONS = (
    ("generative", "hciae_g_dis", "hciae_g_mle_control"),
    ("generative", "hciae_g_dis", "hciae_g_mle"),
    ("generative", "hciae_g_dis", "answer_prior"),
    ("generative", "hciae_g_mle", "answer_prior"),
    ("generative", "hciae_g_mle", "lf_g"),
    ("generative", "hciae_g_mle", "hrea_g"),
    ("generative", "hciae_g_mle", "mn_g"),
    ("generative", "hciae_gan2", "hciae_g_dis"),
    ("discriminative", "hciae_d_np_att", "answer_prior"),
    ("discriminative", "hciae_d_np_att", "hciae_d_np"),
    ("discriminative", "hciae_d_np_att", "hciae_d_mle"),
    ("discriminative", "hciae_d_np", "hciae_d_mle"),
    ("discriminative", "hciae_d_mle", "lf_d"),
    ("discriminative", "hciae_d_mle", "hrea_d"),
    ("discriminative", "hciae_d_mle", "mn_d"),
    ("discriminative", "hciae_gan1", "hciae_d_np_att"),
    ("discriminative", "hciae_gan2", "hciae_d_np_att"),
    ("answers", "hciae_g_dis", "hciae_g_mle_control"),
    ("answers", "hciae_g_dis", "hciae_g_mle"),
    ("answers", "hciae_gan2", "hciae_g_mle_control"),
    *(
        (group, row, "hciae_g_dis")
        for group in ("generative", "answers")
        for row in ABLATIONS
        if row.startswith("hciae_g_dis")
    ),
)

#: What the figures of the paper's page were written to.
RESULTS = (
    "results/visdial_world.json",
    "results/visdial_truth.json",
    "results/visdial_real.json",
)


def load_runs(directories) -> list[dict]:
    """Reads the results of several seeds of one experiment.

    Raises:
        ValueError: If a file is missing or is no results file, if two runs
            have the same seed, or if settings or data differ.
    """
    runs = [_load(directory) for directory in directories]
    first = runs[0]
    for directory, run in zip(directories, runs):
        for key in ("settings", "data", "dialogs"):
            if run.get(key) != first.get(key):
                raise ValueError(
                    "`directories` must be runs of one experiment. Received: "
                    f"{directory}, whose {key} differ from those of "
                    f"{directories[0]}. Summarize them apart."
                )
    seeds = [run["seed"] for run in runs]
    if len(set(seeds)) < len(seeds):
        raise ValueError(
            "`directories` must be runs of different seeds. Received: seeds "
            f"{seeds}. Leave the repeated runs out."
        )
    return runs


def _load(directory):
    path = os.path.join(directory, "results.json")
    try:
        with open(path) as file:
            run = json.load(file)
        run["seed"], run["rows"], run["settings"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            "`directories` must hold a results.json each. Received: "
            f"{path} ({error!r}). Run `python -m reproduce visdial --out "
            f"{directory}` to its end first."
        ) from error
    return run


def summarize(runs: list[dict]):
    """Means and paired differences over seeds.

    Returns:
        Dict of `"rows"`, figures by group, row and metric; `"differences"`, a
        list of dicts with `group`, `row`, `against` and `metrics`; and
        `"images"`, by group and row how much better MRR and NDCG are with a
        dialog's own image than with another dialog's. A figure is a dict of
        `mean`, `low`, `high`, the 95 percent interval, and `values`, one for
        each seed that has it; rows name these `seeds`. Bounds of one value
        are `None`.
    """
    by_group = {"generative": {}, "discriminative": {}, "answers": {}}
    for run in runs:
        for row, groups in run["rows"].items():
            for group, values in groups.items():
                by_group[group].setdefault(row, {})[run["seed"]] = values
    differences = []
    for group, row, against in COMPARISONS:
        ours, theirs = (
            by_group[group].get(name, {}) for name in (row, against)
        )
        gaps = [_gaps(ours[s], theirs[s]) for s in ours if s in theirs]
        if gaps:
            metrics = _figures(group, gaps)
            between = {"group": group, "row": row, "against": against}
            differences.append({**between, "metrics": metrics})
    images = {}
    for group, rows in by_group.items():
        for row, seeds in rows.items():
            gains = _figures(group, map(_image_gains, seeds.values()))
            if gains:
                images.setdefault(group, {})[row] = gains
    return {
        "rows": {
            group: {
                row: _figures(group, by_seed.values(), [*by_seed])
                for row, by_seed in rows.items()
            }
            for group, rows in by_group.items()
        },
        "differences": differences,
        "images": images,
    }


def _gaps(one, other):
    """Differences of what both have, but not of what is a control."""
    shared = [name for name in one if name in other]
    return {n: one[n] - other[n] for n in shared if not n.endswith(OTHER)}


def _image_gains(values):
    """Metrics with a dialog's own image less those with another one's."""
    names = [name for name in CONTROLLED if name + OTHER in values]
    return {name: values[name] - values[name + OTHER] for name in names}


def _figures(group, by_seed, seeds=()):
    """Means and intervals of several seeds' metrics."""
    names, by_seed = ANSWERS if group == "answers" else RANKING, list(by_seed)
    names = (*names, *(name + OTHER for name in CONTROLLED))
    figures = {}
    for name in names:
        having = [k for k, values in enumerate(by_seed) if name in values]
        if having:
            figures[name] = _figure([by_seed[k][name] for k in having])
            if seeds:
                figures[name]["seeds"] = [seeds[k] for k in having]
    return figures


def _figure(values):
    mean, low, high = mean_interval(values)
    # JSON has no infinity.
    low, high = (x if math.isfinite(x) else None for x in (low, high))
    return {"mean": mean, "low": low, "high": high, "values": values}


def summary_tables(summary: dict) -> str:
    """The summary as Markdown tables: `mean [low, high]`."""
    blocks = []
    for group, rows in summary["rows"].items():
        gaps = {
            f"{gap['row']} - {gap['against']}": gap["metrics"]
            for gap in summary["differences"]
            if gap["group"] == group
        }
        # Older summaries knew no control of the image.
        images = summary.get("images", {}).get(group, {})
        blocks += [
            _block(f"{group}: mean and 95 % interval", rows, ""),
            _block(
                f"{group}: paired difference by seed and 95 % interval",
                *(gaps, "+"),
            ),
            _block(
                f"{group}: own images less other dialogs' images, paired "
                "difference by seed and 95 % interval",
                *(images, "+"),
            ),
        ]
    learners = [v for k, v in summary["rows"].items() if k != "answers"]
    rows = [row for player in learners for row in player.values()]
    if rows and not any("ndcg" in row for row in rows):
        blocks.append(NO_NDCG)
    return "\n\n".join(block for block in blocks if block)


def tables_of_runs(paths) -> str:
    """The tables of folders of runs, or of a file that `--json` wrote."""
    if not str(paths[0]).endswith(".json"):
        return summary_tables(summarize(load_runs(paths)))
    with open(paths[0]) as file:
        return summary_tables(json.load(file))


def _block(title, rows, sign):
    if not rows:
        return ""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = [
        [label, *(_cell(name, values.get(name), sign) for name in names)]
        + [str(max(len(figure["values"]) for figure in values.values()))]
        for label, values in rows.items()
    ]
    return f"{title}\n\n{markdown_table(['row', *names, 'seeds'], lines)}"


def _cell(name, figure, sign):
    if figure is None:
        return "-"
    fine = name.startswith(CONTROLLED) or name.endswith("share")
    form = f"{sign}.{4 if fine else 2}f"
    text = format(figure["mean"], form)
    if figure["low"] is None:
        return text
    return f"{text} [{figure['low']:{form}}, {figure['high']:{form}}]"


@command()
def main(arguments=None):
    """Prints the tables, and writes the figures where asked to."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce visdial summary",
        description="Means and paired differences over the seeds of an "
        "experiment.",
    )
    add = parser.add_argument
    add("runs", nargs="+", help="folders with a results.json, or one summary")
    add("--json", help="file to write the figures to")
    options = parser.parse_args(arguments)
    if options.runs[0].endswith(".json"):
        print(tables_of_runs(options.runs))
        return 0
    runs = load_runs(options.runs)
    summary = summarize(runs)
    seeds = ", ".join(str(run["seed"]) for run in runs)
    print(f"Found on: {runs[0]['data']}. Seeds: {seeds}.\n")
    print(summary_tables(summary))
    if options.json:
        with whole_file(options.json, "w") as file:
            json.dump(summary, file, indent=1)
    return 0
