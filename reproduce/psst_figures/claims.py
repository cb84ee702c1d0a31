"""Tables of the paper's claims, and of all points of a sweep."""

from reproduce.psst_figures.decodings import DECODINGS
from reproduce.psst_figures.decodings import View
from reproduce.psst_figures.listeners import FIXED
from reproduce.psst_figures.listeners import RECALLS
from reproduce.psst_figures.listeners import listener_notes
from reproduce.psst_figures.listeners import listeners
from reproduce.psst_figures.listeners import recall_head
from reproduce.psst_figures.methods import TITLES
from reproduce.psst_figures.methods import curves_of
from reproduce.psst_figures.methods import measured
from reproduce.psst_figures.methods import method_title
from reproduce.psst_figures.methods import place_of
from reproduce.psst_figures.methods import rho_curves
from reproduce.psst_figures.published import CLAIMS
from tensorboard_plugin_tfcap.tradeoff import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff import cell
from tensorboard_plugin_tfcap.tradeoff import found_cell
from tensorboard_plugin_tfcap.tradeoff import found_on
from tensorboard_plugin_tfcap.tradeoff import not_reached
from tensorboard_plugin_tfcap.tradeoff import number
from tensorboard_plugin_tfcap.tradeoff import seeds_cell
from tfcap.curves import compare_curves
from tfcap.curves import curve_overlap
from tfcap.curves import mean_interval

_PUBLISHED = View()
#: Own recall@10 less that of strangers, in records; and less the fixed one's.
PRIVATE, GAP = "private_language", "gap"
#: Columns of the table of all points, and how many digits they have.
POINT_COLUMNS = {
    "cider_d": ("CIDEr-D", 3),
    "bleu_4": ("BLEU-4", 3),
    "lm_log_prob": ("log prob / word", 3),
    "strangers_r@10": ("strangers R@10", 1),
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
    "truth_precision": ("true of what is said", 3),
    "truth_recall": ("said of what is true", 3),
    "truth_false": ("false claims", 3),
    "truth_utility": ("questions answered right", 3),
    "truth_unread": ("words not read", 3),
    PRIVATE: ("own - strangers R@10", 1, "+"),
    GAP: ("own - fixed R@10", 1, "+"),
}
#: What these columns are, where they are there.
_POINT_NOTES = {
    "lm_log_prob": "Log prob / word: natural logarithm, end of the caption "
    "included, under a 4-gram model of the training captions. Rows of human "
    "captions tell what people's are.",
    "repeat_rate": "Shares of captions: repeats say a word twice in a row, a "
    "bigram twice says some pair of words twice, unfinished ones reach no end.",
    "novel_trigrams": "New bigrams and trigrams: shares of those said that no "
    "training caption has.",
}


def rho_table(records: list[dict], cider, data: str) -> TradeoffTable:
    """Recall at a fixed CIDEr-D against rho, as Figure 3f."""
    heard = listeners(records)
    several = len(heard) > 1
    asked = {
        recall_head(recall, prefix, several): prefix + recall
        for prefix in heard or [""]
        for recall in RECALLS
    }
    columns = []
    for name in asked.values():
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
        ["", *asked, "seeds"],
        rows,
        [found_on(data), *listener_notes(heard), *notes],
    )


def claim_table(
    groups, level, data: str, view: View = _PUBLISHED
) -> TradeoffTable:
    """Differences of the methods that the paper says to differ.

    Args:
        level: Float, the naturalness at which they are compared, or `None`
            for the greatest that both of a pair reach.
    """
    records = [record for group in groups.values() for record in group]
    heard = listeners(records, decoding=view.decoding)
    several = len(heard) > 1
    curves = {
        prefix: curves_of(
            groups, view.naturalness, f"{view.decoding}{prefix}r@10"
        )[0]
        for prefix in heard or [""]
    }
    rows, notes = [], []
    for claim in CLAIMS:
        titles = [method_title(method) for method in claim]
        name = " - ".join(titles)
        pairs = [
            {title: by_title[title] for title in titles}
            for by_title in curves.values()
            if all(title in by_title for title in titles)
        ]
        if len(pairs) < len(curves):
            continue
        overlap = curve_overlap(pairs[0])
        if overlap is None:
            notes.append(f"{name}: no {view.title} in common.")
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
    heads = [recall_head("r@10", prefix, several) for prefix in curves]
    means = [f"mean {head}" for head in heads]
    return TradeoffTable(
        view.named("Claims"),
        "differences in recall@10 (points of %), seed by seed",
        [
            *("", f"at {view.title}", *heads, "seeds"),
            *(f"over {view.title}", *means, "seeds"),
        ],
        rows,
        [found_on(data), *listener_notes(heard), *notes],
    )


def point_table(
    records: list[dict],
    data: str,
    decoding: str = "",
    columns=None,
    titles=("Points", "all that was trained, at each \u03bb"),
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
    """Differences by listener, and of how many seeds they are."""
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
