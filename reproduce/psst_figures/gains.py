"""Differences between every point of a sweep and the speaker alone."""

from reproduce.psst_figures.claims import point_table
from reproduce.psst_figures.methods import HUMAN
from reproduce.psst_figures.methods import measured
from tensorboard_plugin_tfcap.tradeoff import TradeoffTable

#: Scores that are subtracted: a title, digits and that signs are shown.
_COLUMNS = {
    "cider_d": ("CIDEr-D", 3, "+"),
    "strangers_r@10": ("strangers R@10", 1, "+"),
    "fixed_r@10": ("fixed R@10", 1, "+"),
    "r@10": ("R@10", 1, "+"),
    "lm_log_prob": ("log prob / word", 3, "+"),
    "repeated_bigram_rate": ("a bigram twice", 3, "+"),
    "unfinished_rate": ("unfinished", 3, "+"),
    "novel_trigrams": ("new trigrams", 3, "+"),
    "truth_precision": ("true of what is said", 3, "+"),
    "truth_recall": ("said of what is true", 3, "+"),
    "truth_false": ("false claims", 3, "+"),
}


def gain_table(
    records: list[dict], data: str, decoding: str = ""
) -> TradeoffTable | None:
    """Every point less the speaker of maximum likelihood of the same seed.

    Returns:
        `TradeoffTable`, or `None` where there is no such speaker, or nothing
        beside it.
    """
    alone = {r["seed"]: r for r in records if r["method"] == "speaker_mle"}
    columns = _columns(records)
    names = [decoding + name for name in columns]
    gains = [
        {
            **record,
            **{
                name: record[name] - alone[record["seed"]][name]
                if measured(record, name)
                and measured(alone[record["seed"]], name)
                else None
                for name in names
            },
        }
        for record in records
        if record["method"] not in ("speaker_mle", *HUMAN)
        and record["seed"] in alone
    ]
    if not any(measured(gain, names[0]) for gain in gains):
        return None
    title = "each point less the speaker alone, seed by seed"
    return point_table(gains, data, decoding, columns, ("Gains", title))


def _columns(records):
    """The columns, with one for each listener of the panel."""
    start = "strangers_r@10_"
    heard = dict.fromkeys(
        name for record in records for name in record if name.startswith(start)
    )
    makes = {
        name: (f"{name.removeprefix(start).replace('_', ' ')} R@10", 1, "+")
        for name in heard
    }
    return {**_COLUMNS, **makes}
