"""The tables of PSST from the results of a sweep, and of all its points."""

from reproduce.psst_figures.methods import ABLATION
from reproduce.psst_figures.methods import ALONE
from reproduce.psst_figures.methods import AT_CIDER
from reproduce.psst_figures.methods import AT_CIDER_NOTE
from reproduce.psst_figures.methods import AT_RECALL
from reproduce.psst_figures.methods import AT_RECALL_OF
from reproduce.psst_figures.methods import CLAIMS
from reproduce.psst_figures.methods import DECODINGS
from reproduce.psst_figures.methods import FIXED
from reproduce.psst_figures.methods import HUMAN
from reproduce.psst_figures.methods import HUMAN_CAPTIONS
from reproduce.psst_figures.methods import RECALLS
from reproduce.psst_figures.methods import STRANGERS
from reproduce.psst_figures.methods import TITLES
from reproduce.psst_figures.methods import by_method
from reproduce.psst_figures.methods import curves_of
from reproduce.psst_figures.methods import decoded
from reproduce.psst_figures.methods import listener_notes
from reproduce.psst_figures.methods import listeners
from reproduce.psst_figures.methods import measured
from reproduce.psst_figures.methods import method_title
from reproduce.psst_figures.methods import place_of
from reproduce.psst_figures.methods import recall_head
from reproduce.psst_figures.methods import rho_curves
from reproduce.psst_figures.methods import rho_notes
from reproduce.psst_figures.methods import with_fixed_listener
from tensorboard_plugin_tfcap.tradeoff import NATURALNESS
from tensorboard_plugin_tfcap.tradeoff import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff import absences
from tensorboard_plugin_tfcap.tradeoff import cell
from tensorboard_plugin_tfcap.tradeoff import found_cell
from tensorboard_plugin_tfcap.tradeoff import found_on
from tensorboard_plugin_tfcap.tradeoff import not_reached
from tensorboard_plugin_tfcap.tradeoff import number
from tensorboard_plugin_tfcap.tradeoff import seeds_cell
from tfcap.curves import compare_curves
from tfcap.curves import curve_overlap
from tfcap.curves import mean_interval
from tfcap.curves import operating_point

#: Own recall@10 minus that of held-out listeners, and minus the fixed one's.
PRIVATE, GAP = "private_language", "gap"
#: Columns of the table of all points: title, digits and sign.
POINT_COLUMNS = {
    "cider_d": ("CIDEr-D", 3),
    "bleu_4": ("BLEU-4", 3),
    "lm_log_prob": ("log prob / word", 3),
    "strangers_r@10": ("held-out R@10", 1),
    "strangers_spread": ("their spread", 1),
    "fixed_r@10": ("fixed R@10", 1),
    "r@1": ("R@1", 1),
    "r@5": ("R@5", 1),
    "r@10": ("R@10", 1),
    "mean_rank": ("mean rank", 1),
    "repeat_rate": ("repeats", 3),
    "repeated_bigram_rate": ("a bigram twice", 3),
    "unfinished_rate": ("unfinished", 3),
    "novel_bigrams": ("new bigrams", 3),
    "novel_trigrams": ("new trigrams", 3),
    "bad_ending_rate": ("bad endings", 3),
    "mean_length": ("words", 1),
    "chair_i": ("CHAIR-i", 3),
    "chair_s": ("CHAIR-s", 3),
    "truth_precision": ("claim precision", 3),
    "truth_recall": ("fact recall", 3),
    "truth_false": ("false claims", 3),
    "truth_utility": ("questions answered", 3),
    "truth_unread": ("unread words", 3),
    PRIVATE: ("own - held-out R@10", 1, "+"),
    GAP: ("own - fixed R@10", 1, "+"),
}
#: Notes on columns.
_POINT_NOTES = {
    "lm_log_prob": "Log prob / word: natural logarithm, end token included, "
    "under a 4-gram model of the training captions.",
    "repeat_rate": "Shares of captions: with a word twice in a row (repeats), "
    "with a repeated bigram, without an end (unfinished).",
    "novel_trigrams": "New bigrams and trigrams: shares that are in no "
    "training caption.",
}


def rho_table(records: list[dict], cider, data: str) -> TradeoffTable:
    """Recall at a fixed CIDEr-D against rho, as Figure 3f."""
    heard = listeners(records) or [""]
    columns = {
        recall_head(recall, prefix, len(heard) > 1): _compared(
            rho_curves(records, prefix + recall), cider, "recall"
        )
        for prefix in heard
        for recall in RECALLS
    }
    named = {
        f"{title}, \u03c1 = {rho:g}": (title, rho)
        for title, rho in rho_curves(records)
    }
    rows = [
        [
            name,
            *(found_cell(column, key, 1) for column in columns.values()),
            seeds_cell([column.get(key) for column in columns.values()]),
        ]
        for name, key in named.items()
    ]
    curves = rho_curves(records)
    curves = {name: curves[key] for name, key in named.items()}
    notes = not_reached(curves, cider, "naturalness", "CIDEr-D")
    if not rows:
        notes = ["No method was trained with several \u03c1."]
    return TradeoffTable(
        "Figure 3f",
        f"recall (%) at CIDEr-D = {number(cider)} against \u03c1",
        ["", *columns, "seeds"],
        rows,
        [found_on(data), *listener_notes(heard), *notes],
    )


def claim_table(groups, level, data: str, decoding="") -> TradeoffTable:
    """Differences between methods that the paper ranks.

    Args:
        level: Float, the CIDEr-D at which they are compared, or `None` for the
            greatest that both of a pair reach.
    """
    heard = _heard(groups, decoding)
    curves = [_curves(groups, decoding, prefix, "r@10")[0] for prefix in heard]
    rows, notes = [], []
    for claim in CLAIMS:
        titles = [method_title(method) for method in claim]
        name = " - ".join(titles)
        if not all(title in found for found in curves for title in titles):
            continue
        pairs = [{title: found[title] for title in titles} for found in curves]
        overlap = curve_overlap(pairs[0])
        if overlap is None:
            notes.append(f"{name}: no CIDEr-D in common.")
            continue
        at = overlap[1] if level is None else level
        cells = [number(at), *_differences(pairs, at)]
        if overlap[0] < overlap[1]:
            cells.append(" to ".join(map(number, overlap)))
            cells += _differences(pairs, overlap)
        else:
            cells += ["-"] * (len(pairs) + 2)
        rows.append([name, *cells])
    if not rows and not notes:
        notes = ["No two methods of a claim were trained."]
    heads = [recall_head("r@10", prefix, len(heard) > 1) for prefix in heard]
    means = [f"mean {head}" for head in heads]
    return TradeoffTable(
        decoded("Claims", decoding),
        "differences in recall@10 (points of %), seed by seed",
        ["", "at CIDEr-D", *heads, "seeds", "over CIDEr-D", *means, "seeds"],
        rows,
        [found_on(data), *listener_notes(heard), *notes],
    )


def _heard(groups, decoding=""):
    """Prefixes of the listeners of all records, or that of the own one."""
    records = [record for points in groups.values() for record in points]
    return listeners(records, decoding=decoding) or [""]


def _curves(groups, decoding, prefix, recall):
    """Curves of a listener's recall against CIDEr-D, and methods without."""
    return curves_of(
        groups, f"{decoding}cider_d", f"{decoding}{prefix}{recall}"
    )


def point_table(
    records: list[dict],
    data: str,
    decoding: str = "",
    columns=None,
    titles=("Points", "all rows, at each \u03bb"),
) -> TradeoffTable:
    """Every point of a sweep, none left out.

    Args:
        columns: Dict of a title, digits and perhaps a sign, by the name of a
            score; points that have none of them are then left out. Defaults to
            `POINT_COLUMNS`, and all points.
    """
    groups, shown = {}, columns or POINT_COLUMNS
    gap = [f"{decoding}{name}" for name in ("r@10", f"{FIXED}r@10")]
    for record in records:
        if measured(record, *gap):
            own, fixed = map(record.get, gap)
            record = {**record, f"{decoding}{GAP}": own - fixed}
        key = [record.get(x) for x in ("rho", "temperature")]
        key = record["method"], *key, place_of(record)[1]
        groups.setdefault(key, []).append(record)
    found = [record for points in groups.values() for record in points]
    names = [
        name
        for name in shown
        if any(measured(record, decoding + name) for record in found)
    ]
    rows, heard = [], listeners(records, decoding=decoding)
    for (method, *settings), points in sorted(groups.items(), key=_order):
        cells = [
            _point_cell([p.get(decoding + name) for p in points], *form)
            for name, (_, *form) in shown.items()
            if name in names
        ]
        settings = [number(value) for value in settings]
        every = not decoding and columns is None
        if every or any(cell != "-" for cell in cells):
            rows.append([method, *settings, *cells, str(len(points))])
    heads = [shown[name][0] for name in names]
    if len(heard) > 1:
        heads = [f"own {t}" if t.startswith("R@") else t for t in heads]
    notes = [text for name, text in _POINT_NOTES.items() if name in names]
    kind = DECODINGS[decoding]
    moved = dict.fromkeys(["\u03bb", *(place_of(r)[0] for r in records)])
    return TradeoffTable(
        ", ".join([titles[0], *([kind] if kind else [])]),
        titles[1],
        ["", "\u03c1", "\u03c4", ", ".join(moved), *heads, "seeds"],
        rows,
        [found_on(data), *listener_notes(heard), *notes],
    )


def _point_cell(values, digits, sign=""):
    """Mean and interval of the points that have a value."""
    there = [v for v in values if v is not None and v == v]
    if not there:
        return "-"
    text = cell(mean_interval(there), digits, sign)
    return text if len(there) == len(values) else f"{text} ({len(there)})"


def _differences(pairs, at):
    """Differences by listener, and their numbers of seeds."""
    gaps = [_difference(pair, at) for pair in pairs]
    counts = sorted({count for _, count in gaps})
    return [*(text for text, _ in gaps), ", ".join(counts)]


def _difference(pair, at):
    ours, theirs = pair
    gap = compare_curves(pair, at, baseline=theirs)[ours]
    return cell(gap.difference, 1, "+"), str(gap.pairs)


def _order(item):
    (method, *settings), _ = item
    known = list(TITLES)
    place = known.index(method) if method in known else len(known)
    return place, method, [(x is not None, x or 0) for x in settings]


#: The row that others are compared with.
_BASE = ALONE["speaker_mle"]


def alone_table(groups, decoding, data: str):
    """Gain of recall over the speaker alone, at the same CIDEr-D.

    Each seed's curve is read off at the CIDEr-D of that seed's speaker.

    Returns:
        `TradeoffTable`, or `None` without a speaker alone.
    """
    if _BASE not in groups:
        return None
    heard, columns, beyond = _heard(groups, decoding), {}, {}
    for prefix in heard:
        for recall in RECALLS:
            curves, _ = _curves(groups, decoding, prefix, recall)
            head = recall_head(recall, prefix, len(heard) > 1)
            columns[head] = _gains(curves, beyond)
    rows = []
    for title in groups:
        points = [column.get(title, []) for column in columns.values()]
        if any(points):
            cells = [
                cell(mean_interval(v), 1, "+") if v else "-" for v in points
            ]
            counts = sorted({len(values) for values in points if values})
            rows.append([title, *cells, ", ".join(map(str, counts))])
    notes = [
        f"{title}: {out} seeds do not reach this CIDEr-D."
        for title, out in beyond.items()
    ]
    return TradeoffTable(
        decoded("Speaker alone", decoding),
        "recall (points of %) above it, at its own CIDEr-D, seed by seed",
        ["", *columns, "seeds"],
        rows,
        [found_on(data), *listener_notes(heard), *notes],
    )


def _gains(curves, beyond):
    """Differences by title, one for each seed that reaches the CIDEr-D."""
    base, seeds = curves.get(_BASE, {}), {}
    for title, by_seed in curves.items():
        if title == _BASE:
            continue
        gains, out = [], 0
        for seed, curve in by_seed.items():
            if seed not in base:
                continue
            at = float(base[seed].naturalness[0])
            low, high = curve.naturalness.min(), curve.naturalness.max()
            if low <= at <= high:
                gap = curve.recall_at(at) - float(base[seed].recall[0])
                gains.append(gap)
            else:
                out += 1
        seeds[title] = gains
        if out:
            beyond[title] = out
    return seeds


#: Columns of differences.
_GAINS = (
    *("cider_d", "strangers_r@10", "fixed_r@10", "r@10", "lm_log_prob"),
    *("repeated_bigram_rate", "unfinished_rate", "novel_trigrams"),
    *("truth_precision", "truth_recall", "truth_false"),
)
_EACH = "strangers_r@10_"


def gain_table(
    records: list[dict], data: str, decoding: str = ""
) -> TradeoffTable | None:
    """Every point minus the speaker of maximum likelihood of the same seed.

    Returns:
        `TradeoffTable`, or `None` without such a speaker, or without others.
    """
    columns = {name: (*POINT_COLUMNS[name][:2], "+") for name in _GAINS}
    # Each listener of the panel has a column.
    columns |= {
        name: (f"{name.removeprefix(_EACH).replace('_', ' ')} R@10", 1, "+")
        for record in records
        for name in record
        if name.startswith(_EACH)
    }
    alone = {r["seed"]: r for r in records if r["method"] == "speaker_mle"}
    gains = []
    for record in records:
        base = alone.get(record["seed"])
        if record["method"] in ("speaker_mle", *HUMAN) or base is None:
            continue
        gain = dict(record)
        for name in (decoding + name for name in columns):
            there = measured(record, name) and measured(base, name)
            gain[name] = record[name] - base[name] if there else None
        gains.append(gain)
    if not any(measured(gain, f"{decoding}cider_d") for gain in gains):
        return None
    title = "each point minus the speaker alone, seed by seed"
    return point_table(gains, data, decoding, columns, ("Gains", title))


def curve_tables(
    records: list[dict],
    data: str,
    recall=None,
    cider=None,
    ablation_cider: float | None = None,
    rho: float = 0.25,
):
    """The paper's tables, with the results of a sweep.

    Table 1, naturalness at a fixed recall@5; Table 2, recall at a fixed
    CIDEr-D; Table 3, the ablation, and human captions; Figure 3f, recall
    against rho; the claims, as differences of the same seeds; gains over the
    speaker alone; every point; and every point minus the speaker alone. Recall
    by held-out listeners precedes recall by the own listener. All but the
    paper's own tables follow for beam search, if records have it. Each seed's
    curve is read off by itself, never beyond its points. A cell is the mean
    over the seeds that reach the point, with its 95 % interval and their
    number.

    Args:
        recall: Float in percent, the recall@5 of Table 1. By default the
            greatest that most methods reach.
        cider: Float, the CIDEr-D of Table 2, Figure 3f and the claims. By
            default the greatest that most methods reach; the claims then
            compare each pair at the greatest that both reach.

    Example:

    >>> from reproduce import psst_figures
    >>> records = [
    ...     {"method": "luo2018", "lambda": x, "seed": seed, "cider_d": 1.3 - x,
    ...      "r@1": 20.0 + seed, "r@5": 50.0, "r@10": 64.0}
    ...     for x in (0.1, 0.2) for seed in (0, 1, 2)
    ... ]
    >>> tables = psst_figures.curve_tables(records, "made-up words", cider=1.15)
    >>> print(tables[1].rows[6][:3])
    ['Luo et al. 2018', '21.0 [18.5, 23.5]', '50.0 [50.0, 50.0]']

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, Tables 1-3 and Figure 3
    """
    records = with_fixed_listener(records)
    speakers = [r for r in records if r["method"] not in HUMAN]
    groups = by_method(speakers, rho)
    curves, _ = curves_of(groups)
    at = operating_point(curves, "naturalness") if cider is None else cider
    published_on = f"on COCO at CIDEr = 1.2. {AT_CIDER_NOTE}"
    tables = [
        _at_recall(groups, recall, data),
        _at_cider("", "", groups, at, (AT_CIDER, published_on), data),
        _ablation(records, groups, at, ablation_cider, data),
        rho_table(speakers, at, data),
        claim_table(groups, cider, data),
        alone_table(groups, "", data),
        point_table(records, data),
        gain_table(records, data),
    ]
    for decoding in filter(None, DECODINGS):
        if not any(measured(r, f"{decoding}cider_d") for r in speakers):
            continue
        curves, _ = _curves(groups, decoding, "", "r@10")
        level = operating_point(curves, "naturalness")
        tables += [
            _at_cider(decoding, "", groups, level, None, data),
            claim_table(groups, None, data, decoding),
            alone_table(groups, decoding, data),
            point_table(records, data, decoding),
            gain_table(records, data, decoding),
        ]
    return [table for table in tables if table is not None]


def _at_recall(groups, recall, data):
    """Table 1, by the own listener as published."""
    curves, _ = curves_of(groups, "cider_d", "r@5")
    if recall is None:
        recall = operating_point(curves, "recall")
    named = {name: NATURALNESS[name] for name in AT_RECALL_OF}
    columns, notes = [], []
    for measure, title in named.items():
        shown, lacking = curves_of(groups, measure, "r@5")
        columns.append(_compared(shown, recall, "naturalness"))
        notes += absences(groups, lacking, title)
    notes += not_reached(curves, recall, "recall", "recall@5")
    return _table(
        ("Table 1", f"naturalness at own recall@5 = {number(recall)} %"),
        groups,
        (list(named.values()), columns, 3),
        (AT_RECALL, "on COCO at recall@5 = 80 %."),
        [data, *notes],
    )


def _at_cider(decoding, title, groups, level, published, data, name="Table 2"):
    heard = _heard(groups, decoding)
    columns, heads, notes = [], [], []
    for prefix in heard:
        for recall in RECALLS:
            shown, lacking = _curves(groups, decoding, prefix, recall)
            columns.append(_compared(shown, level, "recall"))
            heads.append(recall_head(recall, prefix, len(heard) > 1))
            notes += absences(groups, lacking, f"CIDEr-D or {heads[-1]}")
    curves, _ = _curves(groups, decoding, heard[-1], "r@10")
    notes += not_reached(curves, level, "naturalness", "CIDEr-D")
    # Published columns are the own listener's, which stand last.
    return _table(
        (
            decoded(name, decoding),
            f"{title}recall (%) at CIDEr-D = {number(level)}",
        ),
        groups,
        (heads, columns, 1),
        published,
        [data, *listener_notes(heard), *notes],
    )


def _ablation(records, groups, at, cider, data):
    names = [method_title(name) for name in ABLATION]
    published_on = (
        "on COCO at CIDEr = 1.13, human captions on its validation split."
    )
    table = _at_cider(
        "",
        "ablation, and human captions below; ",
        {name: rows for name, rows in groups.items() if name in names},
        at if cider is None else cider,
        (ABLATION, published_on),
        data,
        "Table 3",
    )
    # Of whom the table has columns, without the published ones.
    others = [
        prefix
        for prefix in (STRANGERS, FIXED)
        if recall_head(RECALLS[0], prefix, True) in table.head
    ]
    for method, published in HUMAN_CAPTIONS.items():
        rows = [r for r in records if r["method"] == method]
        human = _human(rows, [*others, ""])
        lacking = len(table.head) - 1 - len(published) - len(human)
        quoted = [f"{value:.1f}" for value in published]
        table.rows.append(
            [method_title(method), *["-"] * lacking, *human, *quoted]
        )
    return table


def _human(records, heard):
    """Recalls of human captions, and of how many listeners they are."""
    cells, count = [], 0
    for prefix in heard:
        names = [prefix + recall for recall in RECALLS]
        counted = [record for record in records if measured(record, *names)]
        count = max(count, len(counted))
        cells += [
            cell(mean_interval([r[name] for r in counted]), 1)
            if counted
            else "-"
            for name in names
        ]
    return [*cells, str(count) if count else "-"]


def _table(titles, groups, column_group, published, notes):
    """Rows of all methods that were found or published, side by side."""
    head, columns, digits = column_group
    figures, published_on = published or ({}, "")
    names = {method_title(name): name for name in figures}
    known = [method_title(name) for name in TITLES]
    rows = [name for name in known if name in groups or name in names]
    rows += [name for name in groups if name not in rows]
    # Others than the published columns come before these.
    quoted = len(next(iter(figures.values()), ()))
    shown = [name.removeprefix("own ") for name in head[len(head) - quoted :]]
    lines = []
    for row in rows:
        cells = [found_cell(column, row, digits) for column in columns]
        seeds = seeds_cell([column.get(row) for column in columns])
        quotes = ["-"] * quoted
        if row in names:
            quotes = [f"{x:.{digits}f}" for x in figures[names[row]]]
        lines.append([row, *cells, seeds, *quotes])
    data, *notes = notes
    note = f" Published: {published_on}" if published_on else ""
    return TradeoffTable(
        *titles,
        ["", *head, "seeds", *(f"published {name}" for name in shown)],
        lines,
        [f"{found_on(data)}{note}", *rho_notes(groups), *notes],
    )


def _compared(curves, at, of):
    return {} if at is None else compare_curves(curves, at, of)
