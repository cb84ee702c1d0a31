"""The figure of all estimators, and their table."""

import os

from reproduce.estimators.axes import AXES
from reproduce.estimators.registry import ESTIMATORS
from tfcap.io import whole_path

LABELS = {
    "words": "words of the vocabulary, V",
    "length": "words of a caption, T",
    "temperature": "temperature",
    "rho": "rho",
    "samples": "captions of an image, S",
    "draws": "draws of the noise, K",
}
KINDS = {"bias": "relative bias", "deviation": "relative deviation"}
MARKS = "osD^v<>Ph*Xdp"


def table(record: dict) -> str:
    """All estimators, as text: errors with 95 % intervals, and costs."""
    lines = [["estimator", "bias", "deviation", "error", "cost"]]
    for name, found in record["estimators"].items():
        cells = [_interval(found[kind]) for kind in ("bias", "deviation")]
        cells.append(f"{found['error'][0]:.2f}")
        cost = record["costs"].get(name)
        lines.append([name, *cells, "" if cost is None else f"{cost:.2f}"])
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths))
        for line in lines
    )


def _interval(values):
    mean, low, high = values
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def draw(record: dict, path: str) -> None:
    """Writes the figure.

    Args:
        record: Dict that `python -m reproduce estimators` keeps.
        path: String, of a PNG, SVG or PDF file.
    """
    from matplotlib.figure import Figure

    axes = [name for name in LABELS if record["axes"].get(name)]
    width = max(len(axes), 3)
    figure = Figure(figsize=(3.6 * width, 14), layout="constrained")
    top, *rows = figure.subfigures(3, 1, height_ratios=[1.5, 1, 1])
    scatter, ends, costs = top.subplots(1, 3, width_ratios=[1.5, 1, 1])
    _scatter(scatter, record)
    _ends(ends, record)
    _costs(costs, record)
    looks = _looks(record)
    for row, (kind, label) in zip(rows, KINDS.items()):
        for axis, name in zip(
            row.subplots(1, width, squeeze=False)[0], axes + [None] * width
        ):
            if name is None:
                axis.set_axis_off()
                continue
            lines = record["axes"][name]
            shown = {k: lines[k] for k in AXES[name].shown if k in lines}
            _lines(axis, shown, kind, looks)
            axis.set_xlabel(LABELS[name])
            axis.set_ylabel(label)
            if kind == "deviation" and name in ("words", "samples", "draws"):
                axis.set_yscale("log")
            if name in ("words", "samples", "draws", "temperature"):
                axis.set_xscale("log", base=2)
    figure.suptitle(
        "Gradients of one row against the exact gradient of the expected "
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
    axis.legend(
        fontsize=6.5, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.12)
    )


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


def _lines(axis, lines, kind, looks):
    for name, points in lines.items():
        x = [point["value"] for point in points]
        mean, low, high = zip(*(point[kind] for point in points))
        look = looks[name]
        axis.plot(x, mean, label=name, markersize=4, linewidth=1.2, **look)
        low = [max(value, 0) for value in low]
        axis.fill_between(x, low, high, color=look["color"], alpha=0.12)
    axis.grid(color="0.9")
    if kind == "bias":
        axis.legend(fontsize=6)
