"""Gains of joint training over the speaker alone, listener by listener."""

from reproduce.psst_figures.listeners import RECALLS
from reproduce.psst_figures.listeners import listener_notes
from reproduce.psst_figures.listeners import listeners
from reproduce.psst_figures.listeners import recall_head
from reproduce.psst_figures.methods import ALONE
from reproduce.psst_figures.methods import curves_of
from tensorboard_plugin_tfcap.tradeoff import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff import cell
from tensorboard_plugin_tfcap.tradeoff import found_on
from tfcap.curves import mean_interval

#: Whom it is compared with.
_BASE = ALONE["speaker_mle"]


def alone_table(groups, view, data: str):
    """Recall above that of the speaker alone, where it is as natural.

    Each seed's curve is read off at the naturalness of that seed's speaker.

    Returns:
        `TradeoffTable`, or `None` where there is no speaker alone to compare
        with, or nobody to listen.
    """
    records = [record for points in groups.values() for record in points]
    heard = listeners(records, decoding=view.decoding)
    if _BASE not in groups or not heard:
        return None
    columns, heads, beyond = [], [], {}
    for prefix in heard:
        for recall in RECALLS:
            name = f"{view.decoding}{prefix}{recall}"
            curves, _ = curves_of(groups, view.naturalness, name)
            columns.append(_gains(curves, beyond))
            heads.append(recall_head(recall, prefix, len(heard) > 1))
    titles = [t for t in groups if any(column.get(t) for column in columns)]
    rows = []
    for title in titles:
        points = [column.get(title, []) for column in columns]
        cells = [cell(mean_interval(v), 1, "+") if v else "-" for v in points]
        counts = {len(values) for values in points if values}
        rows.append([title, *cells, ", ".join(map(str, sorted(counts)))])
    notes = [
        f"{title}: {out} seeds do not go there."
        for title, out in beyond.items()
    ]
    return TradeoffTable(
        view.named("Speaker alone"),
        f"recall (points of %) above it, at its own {view.title}, seed by seed",
        ["", *heads, "seeds"],
        rows,
        [found_on(data), *listener_notes(heard), *notes],
    )


def _gains(curves, beyond):
    """Differences by title, a number for each seed that goes there."""
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
