"""The figure of all estimators."""

import os

from reproduce.comparisons.estimators.axes import AXES
from reproduce.comparisons.estimators.registry import ESTIMATORS
from tfcap._io import whole_path

LABELS = {
    "words": "words of the vocabulary, V",
    "length": "words of a caption, T",
    "temperature": "temperature",
    "rho": "rho",
    "samples": "captions of an image, S",
    "draws": "draws of the noise, K",
    "gae": "lambda of GAE",
}
KINDS = {
    "bias": "relative bias",
    "deviation": "relative deviation",
    "correlation": "correlation",
    "cost": "CPU time of a step",
}
MARKS = "osD^v<>Ph*Xdp"


def draw(record: dict, path: str) -> None:
    """Writes the figure.

    Args:
        record: Dict that `python -m reproduce estimators` keeps.
        path: String, of a PNG, SVG or PDF file.
    """
    from matplotlib.figure import Figure

    axes = [name for name in LABELS if record["axes"].get(name)]
    grown = record.get("grown", {})
    kinds = [kind for kind in KINDS if kind != "cost" or grown]
    width = max(len(axes), 3)
    figure = Figure(
        figsize=(3.6 * width, 7 + 4 * len(kinds)), layout="constrained"
    )
    ratios = [1.7] + [1] * len(kinds)
    top, *rows = figure.subfigures(len(ratios), 1, height_ratios=ratios)
    scatter, ends, costs = top.subplots(1, 3, width_ratios=[1.5, 1, 1])
    _scatter(scatter, record)
    _ends(ends, record)
    _costs(costs, record)
    looks = _looks(record)
    for row, kind in zip(rows, kinds):
        lines = grown if kind == "cost" else record["axes"]
        for axis, name in zip(
            row.subplots(1, width, squeeze=False)[0], axes + [None] * width
        ):
            if name is None or not lines.get(name):
                axis.set_axis_off()
                continue
            shown = [k for k in AXES[name].shown if k in lines[name]]
            _lines(axis, {k: lines[name][k] for k in shown}, kind, looks)
            _scales(axis, name, kind)
            axis.set_xlabel(LABELS[name])
            axis.set_ylabel(KINDS[kind])
    figure.suptitle(
        "Gradients of one image against the exact gradient of the expected "
        f"reward; mean and 95 % interval of {record['seeds']} speakers and "
        f"listeners\n{chr(10).join(record['commands'])}",
        fontsize=10,
    )
    kind = os.path.splitext(path)[1][1:]
    with whole_path(path) as partial:
        figure.savefig(partial, format=kind, dpi=110)


def _looks(record):
    """Color and mark of every estimator."""
    from matplotlib import colormaps

    names = list(record["estimators"])
    colors = colormaps["tab20"].colors + colormaps["Dark2"].colors
    return {
        name: {
            "color": colors[i % len(colors)],
            "marker": MARKS[i % len(MARKS)],
        }
        for i, name in enumerate(names)
    }


def _scatter(axis, record):
    """Bias against deviation, of all estimators."""
    looks = _looks(record)
    for name, found in record["estimators"].items():
        x, y = found["bias"][0], found["deviation"][0]
        axis.scatter([x], [y], s=45, zorder=3, label=name, **looks[name])
    axis.set_xlabel(KINDS["bias"])
    axis.set_ylabel(KINDS["deviation"])
    axis.set_yscale("log")
    axis.grid(color="0.9")
    axis.set_title("All estimators", fontsize=11)
    axis.legend(fontsize=6.5, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _ends(axis, record):
    """Bias where an end is drawn, where it is expected, and where none is."""
    fixed = record["axes"].get("ends", {})
    every, x = record["estimators"], 0
    ticks = []
    kinds = ("drawn", "expected", "fixed length")
    colors = dict(zip(kinds, ("tab:red", "tab:green", "tab:blue")))
    for name, line in fixed.items():
        found = {
            "drawn": every.get(name),
            "expected": every.get(f"{name}, expected end"),
            "fixed length": line[0],
        }
        for offset, kind in enumerate(kinds):
            if found[kind] is not None:
                mean, low, high = found[kind]["bias"]
                axis.bar(
                    x + 0.25 * offset,
                    mean,
                    0.23,
                    yerr=[[mean - max(low, 0)], [high - mean]],
                    color=colors[kind],
                    label=None if ticks else kind,
                )
        ticks.append((x + 0.25, name))
        x += 1
    axis.set_xticks([t for t, _ in ticks], [n for _, n in ticks], rotation=30)
    axis.set_ylabel(KINDS["bias"])
    axis.set_title("The decision to stop", fontsize=11)
    if ticks:
        axis.legend(fontsize=8)


def _costs(axis, record):
    """CPU seconds of a step, by those of the first."""
    costs = record["costs"]
    if not costs:
        axis.set_axis_off()
        return
    names = list(costs)[::-1]
    families = sorted({ESTIMATORS[n].family for n in names if n in ESTIMATORS})
    colors = {f: f"C{i}" for i, f in enumerate(families)}
    looks = [
        colors.get(getattr(ESTIMATORS.get(n), "family", None), "0.5")
        for n in names
    ]
    axis.barh(names, [costs[name] for name in names], color=looks)
    axis.set_xscale("log", base=2)
    axis.tick_params(axis="y", labelsize=7)
    axis.set_title(f"CPU time of a step, {names[-1]} = 1", fontsize=11)


def _scales(axis, name, kind):
    """Logarithmic scales, where what is moved is doubled or more."""
    counted = name in ("words", "samples", "draws")
    if kind == "cost" or (kind == "deviation" and counted):
        axis.set_yscale("log")
    if kind == "cost" or counted or name == "temperature":
        axis.set_xscale("log", base=2)


def _lines(axis, lines, kind, looks):
    for name, points in lines.items():
        x = [point["value"] for point in points]
        look = looks[name]
        if kind == "cost":
            y = [point[kind] for point in points]
        else:
            y, low, high = zip(*(point[kind] for point in points))
            low = [max(value, 0) for value in low]
            axis.fill_between(x, low, high, color=look["color"], alpha=0.12)
        axis.plot(x, y, label=name, markersize=4, linewidth=1.2, **look)
    axis.grid(color="0.9")
    if kind == "bias":
        axis.legend(fontsize=6)
