"""The tables of both papers, as found in a sweep.

    python -m tfcap.recipes.sequence_level.tables SWEEP [SWEEP ...]

prints, over seeds, means and 95 % intervals; and paired differences.
"""

import argparse
import math
import os
import sys

from tensorboard_plugin_tfcap.tradeoff.table import TradeoffTable
from tfcap.metrics import mean_interval
from tfcap.training import load_records

_SEVERAL = {
    "mean_cider_d": ("CIDEr-D", 1),
    "best_cider_d": ("best CIDEr-D", 1),
    "div_1": ("Div-1", 1),
    "div_2": ("Div-2", 1),
    "mutual_bleu_4": ("mBLEU-4", -1),
}
_METRICS = {
    "bleu_1": ("BLEU-1", 1),
    "bleu_2": ("BLEU-2", 1),
    "bleu_3": ("BLEU-3", 1),
    "bleu_4": ("BLEU-4", 1),
    "meteor": ("METEOR", 1),
    "rouge_l": ("ROUGE-L", 1),
    "cider_d": ("CIDEr-D", 1),
    "spice": ("SPICE", 1),
    "spider": ("SPIDEr", 1),
    "bcmr": ("BCMR", 1),
}
_DRIFT = {
    "mean_length": ("words", 0),
    "repeat_rate": ("say a word twice", -1),
    "bad_ending_rate": ("break off", -1),
}
_EXPLORATION = ("xe", "sll", "sll_me", "sll_sle", "sll_sle_loo")
#: Pairs of rows whose difference is shown, and of which scores.
_CLAIMS = {
    ("sll", "xe"): ("beam_cider_d", "cider_d", "rs_div_1", "rs_mutual_bleu_4"),
    ("sll_sle", "sll"): (
        "beam_cider_d",
        "cider_d",
        "rs_mean_cider_d",
        "rs_div_1",
        "rs_div_2",
        "rs_mutual_bleu_4",
    ),
    ("sll_me", "sll"): ("beam_cider_d", "rs_div_1", "rs_mutual_bleu_4"),
    ("sll_sle", "sll_me"): ("beam_cider_d", "rs_div_1", "rs_mutual_bleu_4"),
    ("pg_cider", "reinforce"): ("cider_d",),
    ("pg_cider", "mle"): ("cider_d",),
    ("pg_cider", "mixer_cider"): ("cider_d",),
    ("pg_bleu4", "mixer_bleu4"): ("bleu_4",),
    ("pg_bcmr", "mixer_bcmr"): ("bcmr",),
}


def sequence_tables(records, data):
    """What the papers' tables show.

    Args:
        records: List of dicts, as `tfcap.training.load_records()` gives them.
        data: String, what they were found on.

    Returns:
        List of `TradeoffTable`: diversity of samples and of beams, scores of
        the best of a beam, scores of greedy captions, scores by learning
        rate, and paired differences; those that have a row.
    """
    runs = _by_row(records)
    explored = {k: v for k, v in runs.items() if k[0] in _EXPLORATION}
    others = {k: v for k, v in runs.items() if k[0] not in _EXPLORATION}
    plain = {k: v for k, v in others.items() if k[2] is None}
    explored = {k: v for k, v in explored.items() if k[2] is None}
    tables = [
        _table("SLE, Table 4, rs", "random samples", explored, _SEVERAL, "rs_"),
        _table("SLE, Table 4, bs", "beams", explored, _SEVERAL, "bs_"),
        _table("SLE, Table 2", "the best beam", explored, _METRICS, "beam_"),
        _table("SPIDEr", "greedy captions", plain, _METRICS | _DRIFT, ""),
        _rates(runs),
        _differences(runs),
    ]
    tables = [table for table in tables if table is not None]
    for table in tables:
        note = f"Found on: {data}; mean and 95 % interval over seeds."
        table.notes.append(note)
    return tables


def _by_row(records):
    """Records by row, alpha and rate, and then by seed."""
    runs = {}
    for record in records:
        key = record["method"], record.get("alpha"), record.get("rate")
        runs.setdefault(key, {})[record["seed"]] = record
    return runs


def _name(key):
    row, alpha, rate = key
    alpha = "" if alpha is None else f", alpha {alpha:g}"
    return f"{row}{alpha}" + ("" if rate is None else f", rate {rate:g}")


def _table(name, title, runs, columns, prefix):
    """Rows by scores, the best of a column bold."""
    columns = {
        prefix + key: told
        for key, told in columns.items()
        if any(_values(found, prefix + key) for found in runs.values())
    }
    if not runs or not columns:
        return None
    values = [[_values(r, key) for key in columns] for r in runs.values()]
    rows = [
        [_name(key), *map(_cell, line), str(len(runs[key]))]
        for key, line in zip(runs, values)
    ]
    best = []
    for place, (_, sign) in enumerate(columns.values()):
        means = [_mean(line[place]) * sign for line in values]
        known = [mean for mean in means if not math.isnan(mean)]
        if sign and len(known) > 1:
            best.append((means.index(max(known)), place + 1))
    head = ["", *(title for title, _ in columns.values()), "seeds"]
    return TradeoffTable(name, title, head, rows, [], best)


def _rates(runs):
    """CIDEr-D by learning rate, and how far apart the extremes are."""
    tried = {k[0] for k in runs if k[2] is not None}
    rates = sorted({k[2] for k in runs if k[2] is not None})
    if not rates:
        return None
    rows = []
    for row in sorted(tried):
        found = [runs.get((row, None, rate), {}) for rate in rates]
        values = [_values(each, "cider_d") for each in found]
        seeds = set.intersection(*map(set, found))
        spans = []
        for seed in sorted(seeds):
            scores = [each[seed]["cider_d"] for each in found]
            spans.append(max(scores) - min(scores))
        rows.append([row, *map(_cell, values), _cell(spans)])
    head = ["", *(f"{rate:g}" for rate in rates), "best - worst"]
    title = "CIDEr-D of greedy captions by learning rate"
    return TradeoffTable("Sensitivity", title, head, rows, [])


def _differences(runs):
    """By how much one row is above another, seed by seed."""
    rows = []
    for (row, against), names in _CLAIMS.items():
        ours = runs.get((row, None, None), {})
        theirs = runs.get((against, None, None), {})
        for name in names:
            gaps = [
                ours[seed][name] - theirs[seed][name]
                for seed in sorted(ours.keys() & theirs.keys())
                if name in ours[seed] and name in theirs[seed]
            ]
            if gaps:
                cells = [name, _cell(gaps, "+"), str(len(gaps))]
                rows.append([f"{row} - {against}", *cells])
    head = ["", "score", "difference", "seeds"]
    title = "paired by seed"
    return TradeoffTable("Differences", title, head, rows, []) if rows else None


def _values(found, name):
    scores = [found[seed].get(name) for seed in sorted(found)]
    return [score for score in scores if score is not None]


def _mean(values):
    return sum(values) / len(values) if values else math.nan


def _cell(values, sign=""):
    if not values:
        return "-"
    mean, low, high = mean_interval(values)
    form = f"{sign}.3f"
    if math.isinf(low):
        return f"{mean:{form}}"
    return f"{mean:{form}} [{low:{form}}, {high:{form}}]"


def main(argv=None):
    """Prints the tables of sweeps."""
    parser = argparse.ArgumentParser(
        prog="python -m tfcap.recipes.sequence_level.tables",
        description="What a sweep over rewards has found: tables.",
    )
    parser.add_argument("sweep", nargs="+", help="folders of sweeps")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--data", help="what the sweep was made on")
    options = parser.parse_args(argv)
    data = options.data or ", ".join(map(os.path.basename, options.sweep))
    try:
        found = [load_records(path) for path in options.sweep]
    except (OSError, ValueError) as error:
        print(f"tables: {error}", file=sys.stderr)
        return 2
    tables = sequence_tables([r for each in found for r in each], data)
    form = TradeoffTable.markdown if options.markdown else str
    print("\n\n".join(map(form, tables)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
