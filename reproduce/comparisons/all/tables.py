"""Tables of all methods, as found in a sweep."""

from reproduce.comparisons.all.orders import orders_of
from reproduce.comparisons.all.runs import BASE
from reproduce.comparisons.all.runs import base_of
from reproduce.comparisons.all.runs import frontier
from reproduce.comparisons.all.runs import gaps
from reproduce.comparisons.all.runs import runs_of
from reproduce.comparisons.all.runs import values
from reproduce.score_tables import TRUTH
from reproduce.score_tables import cell
from reproduce.score_tables import found_on
from reproduce.score_tables import score_table
from tensorboard_plugin_tfcap.tradeoff import TradeoffTable

_ALL = {
    "cider_d": ("CIDEr-D", 1),
    "r@10": ("own R@10", 1),
    "fixed_r@10": ("R@10, one for all", 1),
    "strangers_r@10": ("strangers R@10", 1),
    "strangers_clip_score": ("strangers' CLIPScore", 1),
    "distinct_captions": ("distinct captions", 1),
    "cpu_seconds": ("CPU s", 0),
    "cpu_ms_a_step": ("CPU ms a step", 0),
}
#: The axes, diversity third.
AXES = {
    name: _ALL[name]
    for name in ("cider_d", "r@10", "strangers_r@10", "distinct_captions")
}
#: What a method gains over maximum likelihood, and what it costs in writing.
_ABOVE = {
    **AXES,
    "repeated_bigram_rate": ("a bigram twice", -1),
    "unfinished_rate": ("unfinished", -1),
}
_DIVERSE = {
    "distinct_captions": ("distinct captions", 1),
    "vocabulary_size": ("words", 1),
    "rs_div_1": ("Div-1 of samples", 1),
    "rs_div_2": ("Div-2", 1),
    "rs_mutual_bleu_4": ("mBLEU-4", -1),
    "rs_best_cider_d": ("best CIDEr-D", 1),
    "rs_mean_cider_d": ("mean CIDEr-D", 1),
}
_WRITTEN = {
    "bleu_4": ("BLEU-4", 1),
    "rouge_l": ("ROUGE-L", 1),
    "lm_log_prob": ("log prob / word", 1),
    "mean_length": ("words", 0),
    "repeated_bigram_rate": _ABOVE["repeated_bigram_rate"],
    "bad_ending_rate": ("break off", -1),
    "unfinished_rate": _ABOVE["unfinished_rate"],
    "private_language": ("own - strangers", -1),
}
_JUDGED = {
    name: TRUTH[name]
    for name in (
        *("truth_precision", "truth_recall", "truth_claims", "truth_false"),
        *("truth_chair_i", "truth_utility", "truth_silent"),
    )
}
_NOTES = {
    "All methods": "Own: the listener that learned with the speaker, else the "
    "one for all, which read people alone and which other methods are trained "
    "for. CLIPScore: how near a caption is to its image, whatever the others "
    "are. CPU seconds are of the training that follows on maximum likelihood, "
    "all threads, graphs traced; a step has one batch.",
    "Frontier": "Means are of the seeds of each row.",
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
    """All methods on all axes, above maximum likelihood, and who wins.

    Returns:
        List of `TradeoffTable`.
    """
    runs = runs_of(records)
    tables = [
        score_table("All methods", "the axes, and CPU time", runs, _ALL),
        above_table(runs),
        frontier_table(runs, "strangers_r@10", "strangers"),
        frontier_table(runs, "r@10", "own listener"),
        order_table(runs),
        score_table("Diversity", "of and among captions", runs, _DIVERSE),
        score_table("Truth", "what is said, and true", runs, _JUDGED),
        score_table("Writing", "how captions read", runs, _WRITTEN),
    ]
    return with_notes(tables, data)


def with_notes(tables, data):
    """Tables that there are, each with what it was found on and its note."""
    tables = found_on(tables, data)
    for table in tables:
        if table.name in _NOTES:
            table.notes.append(_NOTES[table.name])
    return tables


def above_table(runs):
    """Differences to maximum likelihood, paired by seed."""
    base, rows = base_of(runs), []
    for place, by_seed in runs.items():
        if place.method == BASE:
            continue
        found = [gaps(by_seed, base, name) for name in _ABOVE]
        if any(found):
            cells = [cell(gap, "+") for gap in found]
            rows.append([str(place), *cells, str(max(map(len, found)))])
    head = ["", *(title for title, _ in _ABOVE.values()), "seeds"]
    title = "paired by seed"
    return (
        TradeoffTable("Above likelihood", title, head, rows, [])
        if rows
        else None
    )


def frontier_table(runs, recall: str, who: str):
    """Points that none exceeds in CIDEr-D and recall, by their means."""
    shown = "cider_d", recall, "distinct_captions", "cpu_seconds"
    names = {name: _ALL[name] for name in shown}
    best = frontier(runs, "cider_d", recall)
    rows = [
        [
            *(str(place), place.family),
            *(cell(values(runs[place], name)) for name in names),
            str(len(runs[place])),
        ]
        for place in best
    ]
    head = ["", "family", *(title for title, _ in names.values()), "seeds"]
    title = f"no point has more CIDEr-D and more recall by {who}"
    return TradeoffTable("Frontier", title, head, rows, []) if rows else None


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
    return TradeoffTable("Orders", title, head, rows, []) if rows else None
