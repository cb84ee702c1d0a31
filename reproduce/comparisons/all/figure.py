"""The figure of all methods: `python -m reproduce axes`.

python -m reproduce axes results/all_world --figure axes.png
"""

import argparse
import os
import textwrap

import numpy as np

from reproduce.comparisons.all.orders import is_collapsed
from reproduce.comparisons.all.rows import FAMILIES
from reproduce.comparisons.all.runs import BASE
from reproduce.comparisons.all.runs import runs_of
from reproduce.comparisons.all.runs import title_of
from reproduce.score_tables import values
from reproduce.sweep import load_records
from tfcap._io import command
from tfcap._io import whole_path
from tfcap.curves import mean_interval

#: Methods that are labeled in the figure, at least one of each family.
NAMED = (
    *("guided", "psst_multinomial", "reinforce_joint", "psst_speaker"),
    *("luo2018", "ppo", "retriever_ensemble", "ipo", "pg_cider", "wtf"),
)
_GREY, _OWN, _NAMED = "0.82", "#7fa8d1", "#c1272d"


def curves_of(runs: dict) -> dict:
    """CIDEr-D and recall by held-out listeners, `(n, 2, 3)`, by method.

    The last axis has mean, low and high. Rows that collapsed are left out.
    """
    curves = {}
    for place, by_seed in runs.items():
        pair = [values(by_seed, x) for x in ("cider_d", "strangers_r@10")]
        if all(pair) and not is_collapsed(by_seed):
            point = [mean_interval(scores) for scores in pair]
            curves.setdefault(place.method, []).append(point)
    return {method: np.array(points) for method, points in curves.items()}


def draw(records: list[dict], path: str, title: str = "") -> None:
    """Writes the figure: one panel per family, with all others in grey.

    Args:
        records: List of dicts, of a sweep.
        path: String, of a PNG, SVG or PDF file.
    """
    from matplotlib.figure import Figure

    runs = runs_of(records)
    curves = curves_of(runs)
    figure = Figure(figsize=(8, 7.6), layout="constrained")
    axes = figure.subplots(3, 3, sharex=True, sharey=True).ravel()
    for axis, (family, methods) in zip(axes, FAMILIES.items()):
        axis.set_title(family, fontsize=9)
        axis.grid(color="0.95")
        axis.margins(0.1)
        for curve in curves.values():
            axis.plot(*curve[:, :, 0].T, "o", color=_GREY, markersize=3)
        # Intervals may be cut.
        axis.set(xlim=axis.get_xlim(), ylim=axis.get_ylim())
        for method in sorted(methods, key=NAMED.__contains__):
            if method in curves:
                _draw_method(axis, method, curves[method])
        if BASE in curves:
            x, y = curves[BASE][0, :, 0]
            axis.axvline(x, color="0.6", linestyle=":", linewidth=0.8)
            axis.axhline(y, color="0.6", linestyle=":", linewidth=0.8)
    out = {title_of(p.method): 0 for p in runs if p.method not in curves}
    seeds = len({record["seed"] for record in records})
    interval = ", 95 % intervals of labeled methods" * (seeds > 2)
    figure.suptitle(f"{title}: means of {seeds} seeds{interval}", fontsize=10)
    below = "CIDEr-D; dotted: maximum likelihood, from which all start"
    if out:
        told = f"Not shown, degenerate: {'; '.join(out)}"
        below = "\n".join([below, *textwrap.wrap(told, 115)])
    figure.supxlabel(below, fontsize=9)
    figure.supylabel("recall@10 by held-out listeners (%)", fontsize=9)
    with whole_path(path) as partial:
        kind = os.path.splitext(path)[1][1:]
        figure.savefig(partial, format=kind, dpi=150)


def _draw_method(axis, method, curve):
    """Points of a method, with a label and intervals if it is in `NAMED`."""
    named = method in NAMED
    color, means = _NAMED if named else _OWN, curve[:, :, 0].T
    axis.plot(*means, "o-", color=color, markersize=4, linewidth=1)
    if not named:
        return
    low, high = np.abs(curve[:, :, 1:] - curve[:, :, :1]).T
    # One seed has no interval.
    if np.isfinite([low, high]).all():
        axis.errorbar(
            *means,
            xerr=[low[0], high[0]],
            yerr=[low[1], high[1]],
            **{"fmt": "none", "color": color, "alpha": 0.4, "linewidth": 1},
        )
    # Beside the point of most recall, inwards.
    x, y = max(curve[:, :, 0], key=lambda point: point[1])
    left = x < np.quantile(axis.get_xlim(), 0.4)
    axis.annotate(
        title_of(method),
        xy=(x, y),
        xytext=(4 if left else -4, 4),
        textcoords="offset points",
        ha="left" if left else "right",
        in_layout=False,
        bbox={"facecolor": "white", "alpha": 0.5, "pad": 0.5, "linewidth": 0},
        **{"fontsize": 8, "color": color},
    )


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce axes",
        description="Draws CIDEr-D against recall by held-out listeners, of "
        "`python -m reproduce all`, one panel per family of methods.",
    )
    parser.add_argument("sweep", help="folder of the sweep")
    parser.add_argument(
        "--figure", required=True, metavar="FILE", help=".png, .svg or .pdf"
    )
    parser.add_argument("--data", help="name of the data, for the title")
    options = parser.parse_args(arguments)
    title = options.data or os.path.basename(options.sweep)
    draw(load_records(options.sweep), options.figure, title)
    print(f"Written: {options.figure}")
    return 0
