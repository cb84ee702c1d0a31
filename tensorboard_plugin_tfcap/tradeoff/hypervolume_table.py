"""Hypervolumes of methods: their trade-offs of several metrics as numbers."""

import numpy as np

from tensorboard_plugin_tfcap.tradeoff.curve_groups import seed_counts
from tensorboard_plugin_tfcap.tradeoff.level_tables import NONE
from tensorboard_plugin_tfcap.tradeoff.level_tables import brackets_note
from tensorboard_plugin_tfcap.tradeoff.level_tables import directions_note
from tensorboard_plugin_tfcap.tradeoff.table import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff.table import number
from tensorboard_plugin_tfcap.tradeoff.table import seeds_text
from tfcap.curves.areas import hypervolume

#: Steps of the exact computation, of all methods: more would take seconds.
_STEPS = 200_000


def hypervolume_table(groups, metrics, worst, given, aggregate):
    """A table of the volume that each method's points beat.

    Args:
        groups: Dict of lists of points by title.
        metrics: List of `Metric`.
        worst: Dict of floats by name, the reference point.
        given: Names of metrics whose reference was given.
        aggregate: `Aggregate` of seeds, each of which has a volume.

    Returns:
        `TradeoffTable`; without rows where there is no volume, and the notes
        say why.
    """
    names = [metric.name for metric in metrics]
    signs = np.array([metric.sign for metric in metrics], "float64")
    sets = {
        title: _by_seed(points, names, signs)
        for title, points in groups.items()
    }
    every = [a for by_seed in sets.values() for a in by_seed.values()]
    why = _hindrance(metrics, every)
    title = f"hypervolume of {', '.join(m.title for m in metrics)}"
    head = ["", "hypervolume", "share of the box", "seeds"]
    if why:
        return TradeoffTable("hypervolume", title, head, [], [why])
    reference = signs * [worst[name] for name in names]
    best = np.concatenate(every).max(axis=0)
    box = float(np.prod(np.maximum(best - reference, 0.0)))
    rows, records, means, seeds = [], [], [], seed_counts(groups)
    for method, by_seed in sets.items():
        values = {s: hypervolume(a, reference) for s, a in by_seed.items()}
        if not values:
            rows.append([method, NONE, NONE, seeds_text(0, seeds[method])])
            means.append(-np.inf)
            continue
        found = aggregate(list(values.values()))
        means.append(found.mean)
        share = f"{100 * found.mean / box:.1f} %" if box else NONE
        count = seeds_text(len(values), seeds[method])
        rows.append([method, _cell(found), share, count])
        for seed, value in values.items():
            records.append(
                {
                    "method": method,
                    "metrics": " ".join(names),
                    "reference": " ".join(f"{worst[n]:g}" for n in names),
                    **{"seed": seed, "value": value},
                    "points": len(by_seed[seed]),
                    **dict(zip((aggregate.center, "low", "high"), found)),
                    **{"interval": aggregate.bounds, "level": aggregate.level},
                    "n": len(values),
                    "seeds": seeds[method],
                }
            )
    top = max(means)
    ties = [i for i, mean in enumerate(means) if mean == top]
    bold = [[i, 1] for i in ties] if len(ties) < len(means) else []
    return TradeoffTable(
        *("hypervolume", title, head, rows),
        [
            _reference_note(metrics, worst, given),
            brackets_note(aggregate),
            directions_note(metrics),
            *_uneven(sets),
        ],
        bold,
        records,
    )


def _hindrance(metrics, every):
    """Reason why there is no volume, or an empty string."""
    unknown = [m.title for m in metrics if not m.sign]
    if len(metrics) < 2:
        return "There is no hypervolume: choose at least two metrics."
    if unknown:
        return (
            "There is no hypervolume: which way "
            f"{' and '.join(unknown)} is better is not known."
        )
    if not every:
        return "There is no hypervolume: no point has all of these metrics."
    if sum(len(a) ** (len(metrics) - 2) for a in every) > _STEPS:
        return (
            "There is no hypervolume: of so many points it would take long. "
            "Choose fewer metrics."
        )
    return ""


def _by_seed(points, names, signs):
    """Float arrays of shape `(n, m)` by seed, of which more is better."""
    found = {}
    for point in points:
        if all(name in point.metrics for name in names):
            row = [point.metrics[name] for name in names]
            found.setdefault(point.seed, []).append(row)
    return {seed: signs * np.array(rows) for seed, rows in found.items()}


def _uneven(sets):
    """Notices of methods some of whose seeds lack points."""
    for method, by_seed in sets.items():
        counts = {len(rows) for rows in by_seed.values()}
        if len(counts) > 1:
            yield (
                f"{method}: its seeds have {min(counts)} to {max(counts)} "
                "points; of fewer, a volume is smaller."
            )


def _reference_note(metrics, worst, given):
    texts = [f"{m.title} = {number(worst[m.name])}" for m in metrics]
    rest = [m.title for m in metrics if m.name not in given]
    how = (
        f" ({'of ' + ', '.join(rest) + ', ' if given else ''}a tenth of the "
        "range worse than the worst point that is shown, or 0)"
    )
    return (
        f"Reference point: {', '.join(texts)}{how if rest else ''}. Each "
        "seed's points beat this volume above it, in the product of the "
        "metrics' units; the box goes from it to the best value of each metric."
    )


def _cell(found):
    text = number(found.mean)
    if not np.isfinite(found.low):
        return text
    return f"{text} [{number(found.low)}, {number(found.high)}]"
