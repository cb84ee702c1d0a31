"""Tables of all methods."""

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
#: Columns of differences to maximum likelihood.
_ABOVE = {
    **{
        name: _ALL[name]
        for name in ("cider_d", "r@10", "strangers_r@10", "distinct_captions")
    },
    "repeated_bigram_rate": ("a bigram twice", -1),
    "unfinished_rate": ("unfinished", -1),
}
_CAPTIONS = {
    "vocabulary_size": ("words used", 1),
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
    "All methods": "Own: the listener that was trained with the speaker; for "
    "other methods the shared one, trained on human captions alone, which "
    "rewards many of them. CLIPScore: similarity of a caption and its image, "
    "regardless of other images. CPU seconds: of the training after maximum "
    "likelihood, all threads, with tracing.",
    "Orders": "CIDEr-D: its difference between the same two methods, if they "
    "are compared in recall. A trade: more recall and less CIDEr-D, both "
    "significant. One collapsed: most captions of one of the two are "
    "unfinished or empty. Two lambdas are named where one lambda would weigh "
    "the listener differently, or was not run for both. No paper: a comparison "
    "of our own.",
}


def all_tables(
    records: list[dict],
    data: str,
) -> list[TradeoffTable]:
    """Scores, differences to maximum likelihood, and published rankings.

    Returns:
        List of `TradeoffTable`.
    """
    runs = runs_of(records)
    tables = [
        score_table("All methods", "the axes, and CPU time", runs, _ALL),
        above_table(runs),
        order_table(runs),
        score_table("Captions", "diversity and language", runs, _CAPTIONS),
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
    """Published rankings, and the differences that we measure."""
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
