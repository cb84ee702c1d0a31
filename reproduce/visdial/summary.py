"""Several seeds of one study: means, intervals, paired differences.

    python -m reproduce.visdial.summary RUN [RUN ...] [--json FILE]

reads the `results.json` that `examples/visdial_gdis.py` writes into each run.
"""

import argparse
import json
import math
import os

from reproduce.visdial.tables import NO_NDCG
from tensorboard_plugin_tfcap.tradeoff import markdown_table
from tfcap.curves import mean_interval
from tfcap.io import command
from tfcap.io import whole_file

RANKING = ("mrr", "r@1", "r@5", "r@10", "mean_rank", "ndcg")
#: Metrics that are also taken with every dialog's image another one's.
CONTROLLED = ("mrr", "ndcg")
OTHER = "_other_images"
ANSWERS = (
    "distinct",
    "distinct_share",
    "corpus_share",
    "mean_length",
    "yes_no_share",
)

#: The paper's comparisons: group of figures, row, and the row it is set
#: against.
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
)


def load_runs(directories):
    """Reads the results of several seeds of one study.

    Args:
        directories: Strings or paths of folders with a `results.json`.

    Returns:
        List of dicts as the example writes them.

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
                    f"`directories` must be runs of one study. Received: "
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


def summarize(runs):
    """Means and paired differences over seeds.

    Args:
        runs: List of dicts, from `load_runs()`.

    Returns:
        Dict of `"rows"`, figures by group, row and metric; `"differences"`, a
        list of dicts with `group`, `row`, `against` and `metrics`; and
        `"images"`, by group and row how much better MRR and NDCG are with a
        dialog's own image than with another dialog's. A figure is a dict of
        `mean`, `low`, `high`, the 95 percent interval, and `values`, one for
        each seed that has it. Bounds of one value are `None`.
    """
    rows = {}
    for group in ("generative", "discriminative", "answers"):
        names = dict.fromkeys(
            row for run in runs for row in run["rows"] if _has(run, row, group)
        )
        rows[group] = {
            row: _figures(
                group,
                [r["rows"][row][group] for r in runs if _has(r, row, group)],
            )
            for row in names
        }
    differences = []
    for group, row, against in COMPARISONS:
        pairs = [
            (run["rows"][row][group], run["rows"][against][group])
            for run in runs
            if _has(run, row, group) and _has(run, against, group)
        ]
        if pairs:
            gaps = [_gaps(a, b) for a, b in pairs]
            differences.append(
                {
                    "group": group,
                    "row": row,
                    "against": against,
                    "metrics": _figures(group, gaps),
                }
            )
    images = {g: _image_gains(runs, g, rows[g]) for g in rows}
    images = {group: gains for group, gains in images.items() if gains}
    return {"rows": rows, "differences": differences, "images": images}


def summary_tables(summary):
    """The summary as Markdown tables: `mean [low, high]`.

    Args:
        summary: Dict, from `summarize()`.

    Returns:
        String.
    """
    blocks = []
    for group, rows in summary["rows"].items():
        lines = list(rows.items())
        blocks.append(_block(f"{group}: mean and 95 % interval", lines, ""))
        lines = [
            (f"{gap['row']} - {gap['against']}", gap["metrics"])
            for gap in summary["differences"]
            if gap["group"] == group
        ]
        title = f"{group}: paired difference by seed and 95 % interval"
        blocks.append(_block(title, lines, "+"))
        lines = list(summary["images"].get(group, {}).items())
        title = (
            f"{group}: own images less other dialogs' images, paired "
            "difference by seed and 95 % interval"
        )
        blocks.append(_block(title, lines, "+"))
    players = [v for k, v in summary["rows"].items() if k != "answers"]
    rows = [row for player in players for row in player.values()]
    if rows and not any("ndcg" in row for row in rows):
        blocks.append(NO_NDCG)
    return "\n\n".join(block for block in blocks if block)


@command()
def main(argv=None):
    """Prints the tables, and writes the figures where asked to."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce.visdial.summary",
        description="Means and paired differences over the seeds of a study.",
    )
    parser.add_argument("runs", nargs="+", help="folders with a results.json")
    parser.add_argument("--json", help="file to write the figures to")
    arguments = parser.parse_args(argv)
    runs = load_runs(arguments.runs)
    summary = summarize(runs)
    seeds = ", ".join(str(run["seed"]) for run in runs)
    print(f"Found on: {runs[0]['data']}. Seeds: {seeds}.\n")
    print(summary_tables(summary))
    if arguments.json:
        with whole_file(arguments.json, "w") as file:
            json.dump(summary, file, indent=1)
    return 0


def _load(directory):
    path = os.path.join(directory, "results.json")
    try:
        with open(path) as file:
            run = json.load(file)
        run["seed"], run["rows"], run["settings"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            "`directories` must hold a results.json each. Received: "
            f"{path} ({error!r}). Run `examples/visdial_gdis.py --out "
            f"{directory}` to its end first."
        ) from error
    return run


def _has(run, row, group):
    return group in run["rows"].get(row, {})


def _gaps(one, other):
    """Differences of what both have, but not of what is a control."""
    shared = [name for name in one if name in other]
    return {n: one[n] - other[n] for n in shared if not n.endswith(OTHER)}


def _image_gains(runs, group, rows):
    """Gains of own images over others, by row that has the control."""
    gains = {}
    for row in rows:
        found = [r["rows"][row][group] for r in runs if _has(r, row, group)]
        gaps = [
            {
                name: values[name] - values[name + OTHER]
                for name in CONTROLLED
                if name + OTHER in values
            }
            for values in found
        ]
        if any(gaps):
            gains[row] = _figures(group, gaps)
    return gains


def _figures(group, found):
    names = ANSWERS if group == "answers" else RANKING
    names = (*names, *(name + OTHER for name in CONTROLLED))
    return {
        name: _figure([values[name] for values in found if name in values])
        for name in names
        if any(name in values for values in found)
    }


def _figure(values):
    mean, low, high = mean_interval(values)
    # JSON has no infinity.
    low, high = (x if math.isfinite(x) else None for x in (low, high))
    return {"mean": mean, "low": low, "high": high, "values": values}


def _block(title, lines, sign):
    if not lines:
        return ""
    names = list(dict.fromkeys(name for _, values in lines for name in values))
    rows = [
        [label, *(_cell(name, values.get(name), sign) for name in names)]
        + [str(max(len(figure["values"]) for figure in values.values()))]
        for label, values in lines
    ]
    return f"{title}\n\n{markdown_table(['row', *names, 'seeds'], rows)}"


def _cell(name, figure, sign):
    if figure is None:
        return "-"
    fine = name.startswith(CONTROLLED) or name.endswith("share")
    digits = 4 if fine else 2
    form = f"{sign}.{digits}f"
    text = format(figure["mean"], form)
    if figure["low"] is None:
        return text
    return f"{text} [{figure['low']:{form}}, {figure['high']:{form}}]"


if __name__ == "__main__":
    raise SystemExit(main())
