"""What a sweep says of the paper's claims, and all of its points."""

from tensorboard_plugin_tfcap.tradeoff.cells import cell
from tensorboard_plugin_tfcap.tradeoff.cells import found_cell
from tensorboard_plugin_tfcap.tradeoff.cells import found_on
from tensorboard_plugin_tfcap.tradeoff.cells import not_reached
from tensorboard_plugin_tfcap.tradeoff.cells import number
from tensorboard_plugin_tfcap.tradeoff.cells import seeds_cell
from tensorboard_plugin_tfcap.tradeoff.curve_comparison import compare_curves
from tensorboard_plugin_tfcap.tradeoff.curve_comparison import curve_overlap
from tensorboard_plugin_tfcap.tradeoff.intervals import mean_interval
from tensorboard_plugin_tfcap.tradeoff.methods import TITLES
from tensorboard_plugin_tfcap.tradeoff.methods import measured
from tensorboard_plugin_tfcap.tradeoff.methods import method_title
from tensorboard_plugin_tfcap.tradeoff.methods import rho_curves
from tensorboard_plugin_tfcap.tradeoff.published import CLAIMS
from tensorboard_plugin_tfcap.tradeoff.table import TradeoffTable

RECALLS = ("r@1", "r@5", "r@10")
#: Columns of the table of all points, and how many digits they have.
POINT_COLUMNS = {
    "cider_d": ("CIDEr-D", 3),
    "bleu_4": ("BLEU-4", 3),
    "r@1": ("R@1", 1),
    "r@5": ("R@5", 1),
    "r@10": ("R@10", 1),
    "mean_rank": ("mean rank", 1),
    "repeat_rate": ("repeats", 3),
    "bad_ending_rate": ("bad endings", 3),
    "mean_length": ("words", 1),
}


def rho_table(records, cider, data):
    """Recall at a fixed CIDEr-D against rho, as Figure 3f.

    Args:
        records: List of dicts.
        cider: Float, or `None` where there is no such level.
        data: String, what they were found on.

    Returns:
        `TradeoffTable`.
    """
    columns = []
    for name in RECALLS:
        curves = rho_curves(records, name)
        columns.append({} if cider is None else compare_curves(curves, cider))
    curves = rho_curves(records)
    names = {key: f"{key[0]}, \u03c1 = {key[1]:g}" for key in curves}
    rows = [
        [
            name,
            *(found_cell(column, key, 1) for column in columns),
            seeds_cell([column.get(key) for column in columns]),
        ]
        for key, name in names.items()
    ]
    named = {names[key]: by_seed for key, by_seed in curves.items()}
    notes = not_reached(named, cider, "naturalness", "CIDEr-D")
    if not rows:
        notes = ["No method was trained with several \u03c1."]
    return TradeoffTable(
        "Figure 3f",
        f"recall (%) at CIDEr-D = {number(cider)} against \u03c1",
        ["", *(name.upper() for name in RECALLS), "seeds"],
        rows,
        [found_on(data), *notes],
    )


def claim_table(curves, cider, data):
    """Differences of the methods that the paper says to differ.

    Args:
        curves: Dict of dicts of `Curve` by seed, by title.
        cider: Float, where they are compared, or `None` for the greatest
            CIDEr-D that both of a pair reach.
        data: String, what they were found on.

    Returns:
        `TradeoffTable`.
    """
    rows, notes = [], []
    for claim in CLAIMS:
        ours, theirs = map(method_title, claim)
        if ours not in curves or theirs not in curves:
            continue
        pair = {title: curves[title] for title in (ours, theirs)}
        overlap = curve_overlap(pair)
        if overlap is None:
            notes.append(f"{ours} - {theirs}: no CIDEr-D in common.")
            continue
        at = overlap[1] if cider is None else cider
        cells = [number(at), *_difference(pair, at)]
        if overlap[0] < overlap[1]:
            cells.append(" to ".join(map(number, overlap)))
            cells += _difference(pair, overlap)
        else:
            cells += ["-", "-", "-"]
        rows.append([f"{ours} - {theirs}", *cells])
    if not rows and not notes:
        notes = ["No two methods of a claim were trained."]
    means = ["over CIDEr-D", "mean R@10", "seeds"]
    return TradeoffTable(
        "Claims",
        "differences in recall@10 (points of %), seed by seed",
        ["", "at CIDEr-D", "R@10", "seeds", *means],
        rows,
        [found_on(data), *notes],
    )


def point_table(records, data):
    """Every point of a sweep, none left out.

    Args:
        records: List of dicts.
        data: String, what they were found on.

    Returns:
        `TradeoffTable`, a row for each method, rho, temperature and lambda.
    """
    groups = {}
    for record in records:
        key = [record.get(x) for x in ("rho", "temperature", "lambda")]
        groups.setdefault((record["method"], *key), []).append(record)
    names = [
        name
        for name in POINT_COLUMNS
        if any(measured(record, name) for record in records)
    ]
    rows = []
    for (method, *settings), points in sorted(groups.items(), key=_order):
        cells = []
        for name in names:
            values = [p[name] for p in points if measured(p, name)]
            digits = POINT_COLUMNS[name][1]
            found = cell(mean_interval(values), digits) if values else "-"
            if 0 < len(values) < len(points):
                found += f" ({len(values)})"
            cells.append(found)
        settings = [number(value) for value in settings]
        rows.append([method, *settings, *cells, str(len(points))])
    titles = [POINT_COLUMNS[name][0] for name in names]
    return TradeoffTable(
        "Points",
        "all that was trained, at each \u03bb",
        ["", "\u03c1", "\u03c4", "\u03bb", *titles, "seeds"],
        rows,
        [found_on(data)],
    )


def _difference(pair, at):
    ours, theirs = pair
    found = compare_curves(pair, at, baseline=theirs)[ours]
    return cell(found.difference, 1, "+"), str(found.pairs)


def _order(item):
    (method, *settings), _ = item
    known = list(TITLES)
    place = known.index(method) if method in known else len(known)
    return place, method, [(x is not None, x or 0) for x in settings]
