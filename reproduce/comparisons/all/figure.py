"""The figure of all methods: `python -m reproduce axes`.

python -m reproduce axes results/all_world --figure axes.png
"""

import argparse
import math
import os
import textwrap

import numpy as np

from reproduce.comparisons.all.paper import ALL
from reproduce.comparisons.all.rows import FAMILIES
from reproduce.comparisons.all.runs import BASE
from reproduce.comparisons.all.runs import base_of
from reproduce.comparisons.all.runs import runs_of
from reproduce.comparisons.all.runs import title_of
from reproduce.comparisons.all.runs import values
from reproduce.comparisons.all.tables import AXES
from reproduce.point_log import log_sweep
from reproduce.psst_figures import HUMAN
from reproduce.sweep import load_records
from tensorboard_plugin_tfcap.tradeoff import name_places
from tfcap._io import command
from tfcap._io import whole_path
from tfcap.curves import mean_interval

_CIDER = "cider_d", AXES["cider_d"][0]
_STRANGERS = "strangers_r@10", "recall@10 by strangers (%)"
#: Panels: pairs of a score and its name, along x and y.
PANELS = (
    (_CIDER, ("r@10", "recall@10 by the own listener, or the one for all (%)")),
    (_CIDER, _STRANGERS),
    (_CIDER, ("distinct_captions", "distinct greedy captions")),
    (("cpu_seconds", "CPU seconds of training"), _STRANGERS),
)
_SIZE = 7.0
#: Letters beside each other above the panels.
_WIDTH = 200
#: Of methods of no family.
_GRAY = "0.5"
#: Units of print of a unit in which names are placed, and how many at once.
_UNIT, _AT_ONCE = _SIZE / 11.0, 40


def curves_of(runs: dict, x: str, y: str) -> dict:
    """Curves by method: arrays `(n, 3)` of mean, low and high by axis.

    Args:
        runs: Dict of `reproduce.comparisons.all.runs.runs_of()`.
        x, y: Strings, scores.

    Returns:
        Dict of pairs of arrays, of `x` and `y`, by method in the order of
        families; without those that lack one. Of fewer than three seeds, low
        and high are NaN.
    """
    curves = {}
    for place, by_seed in runs.items():
        pair = [values(by_seed, name) for name in (x, y)]
        if not all(pair):
            continue
        both = []
        for found in pair:
            mean, low, high = mean_interval(found)
            # That of two is wider than the figure.
            known = len(found) > 2
            both.append([mean, *([low, high] if known else [math.nan] * 2)])
        curves.setdefault(place.method, []).append(both)
    return {k: np.array(v).transpose(1, 0, 2) for k, v in curves.items()}


def of_most_seeds(runs: dict) -> dict:
    """Runs of each method that have as many seeds as any other of it."""
    most = {}
    for place, by_seed in runs.items():
        most[place.method] = max(most.get(place.method, 0), len(by_seed))
    return {
        place: by_seed
        for place, by_seed in runs.items()
        if len(by_seed) == most[place.method]
    }


def near_the_others(runs: dict) -> tuple[dict, str]:
    """Runs without those far out, and a text that names these.

    Far out is a CIDEr-D by more than 1.5 times the range of the middle half
    below that half, as in box plots.
    """
    means = {
        place: mean_interval(found).mean
        for place, by_seed in runs.items()
        if (found := values(by_seed, "cider_d"))
    }
    if not means:
        return runs, ""
    first, third = np.percentile(list(means.values()), (25, 75))
    least = first - 1.5 * (third - first)
    near = {place: runs[place] for place in means if means[place] >= least}
    kept = {place.method for place in near}
    out = dict.fromkeys(
        str(place) if place.method in kept else title_of(place.method)
        for place in means.keys() - near.keys()
    )
    told = f"Not shown, {AXES['cider_d'][0]} below {least:.2f}: "
    return near, (told + "; ".join(sorted(out))) if out else ""


def draw(records: list[dict], path: str, title: str = "") -> None:
    """Writes the figure, of the points of each method that have most seeds.

    Args:
        records: List of dicts, of a sweep.
        path: String, of a PNG, SVG or PDF file.

    Raises:
        ValueError: If it is of another format.
    """
    from matplotlib.figure import Figure

    kind = os.path.splitext(path)[1][1:].lower()
    if kind not in ("png", "svg", "pdf"):
        raise ValueError(
            f"`path` must end in .png, .svg or .pdf. Received: path={path!r}."
        )
    figure = Figure(figsize=(18, 16), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    looks = _looks()
    runs = of_most_seeds(runs_of(records))
    near, out = near_the_others(runs)
    drawn = []
    for axis, ((x, told_x), (y, told_y)) in zip(axes, PANELS):
        curves = curves_of(near, x, y)
        if x == "cpu_seconds":
            axis.set_xscale("log")
            for ticks in ("major", "minor"):
                getattr(axis.xaxis, f"set_{ticks}_formatter")("{x:g}")
            _draw_level(axis, values(base_of(runs), y))
        for method, curve in curves.items():
            _draw_curve(axis, curve, looks.get(method, _GRAY))
        _fit(axis, curves)
        axis.set_xlabel(told_x)
        axis.set_ylabel(told_y)
        axis.grid(color="0.93")
        drawn.append(curves)
    handles = [
        axes[0].plot([], [], "o-", color=_color(number), label=family)[0]
        for number, (family, methods) in enumerate(FAMILIES.items())
        if any(not curves.keys().isdisjoint(methods) for curves in drawn)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=6)
    seeds = len({record["seed"] for record in records})
    told = f"up to {seeds} seeds, means"
    told += ", and 95 % intervals of three or more" * (seeds > 2)
    figure.suptitle(
        f"{title}: {len({r['method'] for r in records} - {*HUMAN})} methods "
        "from the same networks, with the same passes; "
        f"{told if seeds > 1 else 'one seed'}\n"
        + textwrap.fill(out, _WIDTH, break_on_hyphens=False),
        fontsize="medium",
    )
    # Names are placed where all else stands.
    figure.draw_without_rendering()
    for axis, curves in zip(axes, drawn):
        _draw_names(axis, curves, looks)
    with whole_path(path) as partial:
        figure.savefig(partial, format=kind, dpi=100)


def _color(number):
    from matplotlib import colormaps

    colors = colormaps["tab10"].colors + colormaps["Dark2"].colors
    return colors[number % len(colors)]


def _looks():
    """Color of every method, that of its family."""
    return {
        method: _color(number)
        for number, methods in enumerate(FAMILIES.values())
        for method in methods
    }


def _draw_curve(axis, curve, color):
    x, y = curve
    axis.plot(x[:, 0], y[:, 0], "o-", color=color, markersize=4, linewidth=1)
    for (mx, lx, hx), (my, ly, hy) in zip(x, y):
        if not math.isnan(lx):
            axis.plot([lx, hx], [my, my], color=color, alpha=0.25, linewidth=1)
            axis.plot([mx, mx], [ly, hy], color=color, alpha=0.25, linewidth=1)


def _draw_level(axis, found):
    """A line at the mean of maximum likelihood, from which all start."""
    if found:
        mean = mean_interval(found).mean
        axis.axhline(mean, color=_GRAY, linestyle=":", linewidth=1)
        axis.annotate(
            title_of(BASE),
            xy=(1.0, mean),
            xycoords=("axes fraction", "data"),
            fontsize=_SIZE,
            **{"ha": "right", "va": "bottom", "color": _GRAY},
        )


def _fit(axis, curves):
    """Shows all means; intervals are cut."""
    if not curves:
        return
    for which, bound in enumerate((axis.set_xlim, axis.set_ylim)):
        means = np.concatenate([pair[which][:, 0] for pair in curves.values()])
        scale = (axis.xaxis, axis.yaxis)[which].get_transform()
        means = scale.transform(means)
        room = 0.08 * (np.ptp(means) or 1.0)
        ends = np.array([means.min() - room, means.max() + room])
        bound(*scale.inverted().transform(ends))


def _draw_names(axis, curves, looks):
    """Names of methods beside their marks, none on another."""
    window = axis.get_window_extent()
    unit = _UNIT * axis.figure.dpi / 72.0
    marks = [
        (axis.transData.transform(np.stack([x[:, 0], y[:, 0]], -1))
         - [window.x0, window.y0]) / unit
        for x, y in curves.values()
    ]  # fmt: skip
    methods, taken = list(curves), []
    size = window.width / unit, window.height / unit
    for first in range(0, len(methods), _AT_ONCE):
        now = slice(first, first + _AT_ONCE)
        others = marks[: now.start] + marks[now.stop :]
        boxes = [(*(m - 5), *(m + 5)) for curve in others for m in curve]
        titles = [title_of(method) for method in methods[now]]
        found = name_places(marks[now], titles, size, [*taken, *boxes])
        for method, curve, place in zip(methods[now], marks[now], found):
            if place is None:
                continue
            mark, box = place
            taken.append(box)
            color = looks.get(method, _GRAY)
            _write(axis, title_of(method), curve[mark], box, unit, color)


def _write(axis, text, mark, box, unit, color):
    middle = np.array([box[0] + box[2], box[1] + box[3]]) / 2
    at = axis.transData.inverted().transform(
        mark * unit + axis.get_window_extent().p0
    )
    axis.annotate(
        text,
        xy=at,
        xytext=tuple(middle * unit),
        textcoords="axes pixels",
        color=color,
        fontsize=_SIZE,
        **{"ha": "center", "va": "center"},
        arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.5},
    )


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce axes",
        description="Draws CIDEr-D against recall by the own listener and by "
        "strangers, and against distinct captions, and recall by strangers "
        "against CPU seconds, of `python -m reproduce all`.",
    )
    parser.add_argument(
        "sweep",
        nargs="+",
        help="folders of sweeps; of others than the first, its rows",
    )
    parser.add_argument(
        "--figure", required=True, metavar="FILE", help=".png, .svg or .pdf"
    )
    parser.add_argument("--data", help="what the sweep was made on")
    parser.add_argument(
        "--tensorboard",
        metavar="LOGDIR",
        help="write every point there, for TensorBoard's Trade-off tab",
    )
    options = parser.parse_args(arguments)
    sweeps = {folder: load_records(folder) for folder in options.sweep}
    records = _with_others(*sweeps.values())
    names = ", ".join(map(os.path.basename, options.sweep))
    draw(records, options.figure, options.data or names)
    if options.tensorboard:
        log_sweep(options.tensorboard, ALL, sweeps)
    print(f"Written: {options.figure}")
    return 0


def _with_others(records, *others):
    """Records, after those of the same rows in papers' sweeps of their own."""
    methods, rhos = ({r.get(k) for r in records} for k in ("method", "rho"))
    return [
        *(
            record
            for found in others
            for record in found
            if "strangers_r@10" in record
            and record["method"] in methods
            and record.get("rho") in rhos
        ),
        *records,
    ]
