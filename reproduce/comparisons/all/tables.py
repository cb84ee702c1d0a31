"""Tables of all methods, as found in a sweep."""

from reproduce.comparisons.all.orders import orders_of
from reproduce.comparisons.all.runs import BASE
from reproduce.comparisons.all.runs import Place
from reproduce.comparisons.all.runs import runs_of
from reproduce.score_tables import LANGUAGE
from reproduce.score_tables import cell
from reproduce.score_tables import found_on
from reproduce.score_tables import gaps
from reproduce.score_tables import score_table
from tensorboard_plugin_tfcap.tradeoff import TradeoffTable

_ALL = {
    "cider_d": ("CIDEr-D", 1),
    "r@10": ("own R@10", 1),
    "fixed_r@10": ("R@10, one for all", 1),
    "strangers_r@10": ("held-out R@10", 1),
    "strangers_clip_score": ("held-out CLIPScore", 1),
    "distinct_captions": ("distinct captions", 1),
    "cpu_seconds": ("CPU s", 0),
}
#: What a method gains over maximum likelihood, and what it costs in writing.
_ABOVE = {
    **{
        name: _ALL[name]
        for name in ("cider_d", "r@10", "strangers_r@10", "distinct_captions")
    },
    "repeated_bigram_rate": ("a bigram twice", -1),
    "unfinished_rate": ("unfinished", -1),
}
_CAPTIONS = {
    "vocabulary_size": ("words known", 1),
    "rs_div_1": ("Div-1 of samples", 1),
    "rs_div_2": ("Div-2", 1),
    "rs_mutual_bleu_4": ("mBLEU-4", -1),
    "rs_best_cider_d": ("best CIDEr-D", 1),
    "rs_mean_cider_d": ("mean CIDEr-D", 1),
    "bleu_4": ("BLEU-4", 1),
    "rouge_l": ("ROUGE-L", 1),
    **LANGUAGE,
    "private_language": ("own - held-out", -1),
}
_NOTES = {
    "All methods": "Own: the listener that learned with the speaker, else the "
    "one for all, which read people alone and which other methods are trained "
    "for. CLIPScore: how near a caption is to its image, whatever the others "
    "are. CPU seconds are of the training that follows on maximum likelihood, "
    "all threads, graphs traced.",
    "Orders": "CIDEr-D: the difference of it between the same two, where they "
    "are compared in recall. A trade: one has more recall and less CIDEr-D, "
    "both beyond their intervals. One collapsed: most captions of one of the "
    "two have no end, or no word. Where two lambdas are named, the same one "
    "would not weigh the listener alike, or was not run for both. No paper: a "
    "comparison of our own.",
}


def all_tables(
    records: list[dict],
    data: str,
) -> list[TradeoffTable]:
    """All methods on all axes, above maximum likelihood, and papers' orders.

    Returns:
        List of `TradeoffTable`.
    """
    runs = runs_of(records)
    tables = [
        score_table("All methods", "the axes, and CPU time", runs, _ALL),
        above_table(runs),
        order_table(runs),
        score_table("Captions", "how they differ and read", runs, _CAPTIONS),
    ]
    tables = found_on(tables, data)
    for table in tables:
        if table.name in _NOTES:
            table.notes.append(_NOTES[table.name])
    return tables


def above_table(runs):
    """Differences to maximum likelihood, paired by seed."""
    base, rows = runs.get(Place(BASE), {}), []
    for place, by_seed in runs.items():
        found = [gaps(by_seed, base, name) for name in _ABOVE]
        if any(found) and place.method != BASE:
            cells = [cell(gap, "+") for gap in found]
            rows.append([str(place), *cells, str(max(map(len, found)))])
    head = ["", *(title for title, _ in _ABOVE.values()), "seeds"]
    return _table("Above likelihood", "paired by seed", head, rows)


def _table(name, title, head, rows):
    return TradeoffTable(name, title, head, rows, []) if rows else None


def order_table(runs):
    """Orders of the papers, and the differences that were found."""
    rows = [
        [
            *(order.source, order.told, order.at, order.score),
            *(cell(found, "+") for found in (order.gaps, order.natural)),
            *(order.verdict, str(len(order.gaps))),
        ]
        for order in orders_of(runs)
    ]
    head = ["claimed by", "order", "at", "in", "difference", "CIDEr-D"]
    head += ["found", "seeds"]
    title = "the first above the second, paired by seed"
    return _table("Orders", title, head, rows)
