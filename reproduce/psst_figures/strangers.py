"""Recall by each listener of a panel of strangers, at every point."""

from reproduce.psst_figures.claims import PRIVATE
from reproduce.psst_figures.claims import point_table
from reproduce.psst_figures.methods import HUMAN
from tensorboard_plugin_tfcap.tradeoff import TradeoffTable

_MEAN, _SPREAD = "strangers_r@10", "strangers_spread"


def stranger_table(
    records: list[dict], data: str, decoding: str = ""
) -> TradeoffTable | None:
    """Recall@10 by each stranger, of every point and of people's captions.

    Returns:
        `TradeoffTable`, or `None` where no stranger has heard a point.
    """
    speakers = [r for r in records if r["method"] not in HUMAN]
    start = f"{decoding}{_MEAN}_"
    heard = [r for r in speakers if any(k.startswith(start) for k in r)]
    names = dict.fromkeys(
        name.removeprefix(decoding)
        for record in heard
        for name in record
        if name.startswith(start)
    )
    if not names:
        return None
    columns = {_MEAN: ("mean", 1), _SPREAD: ("spread", 1)}
    for name in names:
        make = name.removeprefix(f"{_MEAN}_").replace("_", " ")
        columns[name] = make, 1
    # What people say is the same for all points of a seed.
    people = [
        {
            "method": "human captions",
            **{decoding + k: record[f"human_{k}"] for k in columns},
        }
        for record in {r["seed"]: r for r in heard}.values()
        if all(f"human_{k}" in record for k in columns)
    ]
    columns |= {"r@10": ("own", 1), PRIVATE: ("own - mean", 1, "+")}
    title = "recall@10 (%) of each listener that met no speaker"
    table = point_table(
        [*heard, *people], data, decoding, columns, ("Strangers", title)
    )
    table.notes.append(
        "Spread: the standard deviation over listeners. Own - mean: what only "
        "these two understand, beside how much better their listener is; that "
        "of the speaker alone, where there is one, is of two that never met."
    )
    return table
