"""The figure of all estimators."""

from reproduce.comparisons.estimators.registry import AXES
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
}


def draw(record: dict, path: str) -> None:
    """Writes the figure, to be read at a page's width.

    Args:
        record: Dict that `python -m reproduce estimators` keeps.
        path: String, of a PNG, SVG or PDF file.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 15), layout="constrained")
    figure.suptitle(
        "Gradients of one image against the exact gradient of the expected\n"
        f"reward; mean and 95 % interval of {record['seeds']} speakers and "
        "listeners",
        fontsize=10,
    )
    top, below = figure.subfigures(2, 1, height_ratios=[1, 4])
    scatter, ends = top.subplots(1, 2)
    _scatter(scatter, record["estimators"])
    _ends(ends, record)
    grid = below.subplots(len(LABELS), 4)
    for (name, label), (*panels, legend) in zip(LABELS.items(), grid):
        for axis, kind in zip(panels, KINDS):
            _lines(axis, record["axes"].get(name, {}), AXES[name].shown, kind)
            axis.set_xlabel(label, fontsize=7)
        if name in ("words", "samples", "draws", "temperature"):
            for axis in panels:
                axis.set_xscale("log", base=2)
                axis.xaxis.set_major_formatter("{x:g}")
        legend.set_axis_off()
        handles = panels[0].get_legend_handles_labels()
        legend.legend(*handles, fontsize=7, loc="center left", frameon=False)
    for axis, title in zip(grid[0], KINDS.values()):
        axis.set_title(title, fontsize=9)
    for axis in figure.get_axes():
        axis.tick_params(labelsize=7)
    with whole_path(path) as partial:
        figure.savefig(partial, dpi=110)


def _scatter(axis, estimators):
    """Bias against deviation, of all estimators by family."""
    families = {}
    for name, found in estimators.items():
        place = found["bias"][0], found["deviation"][0]
        families.setdefault(ESTIMATORS[name].family, []).append(place)
    for family, places in families.items():
        axis.plot(*zip(*places), "o", label=family)
    axis.set_xlabel(KINDS["bias"], fontsize=8)
    axis.set_ylabel(KINDS["deviation"], fontsize=8)
    axis.set_yscale("log")
    axis.grid(color="0.9")
    axis.set_title("All estimators", fontsize=9)
    axis.legend(fontsize=7, loc="lower left")


def _ends(axis, record):
    """Bias where an end is drawn, where it is expected, and where none is."""
    every, fixed = record["estimators"], record["axes"].get("ends", {})
    for place, name in enumerate(fixed):
        kinds = {
            "drawn": (every[name], "tab:red"),
            "expected": (every[f"{name}, expected end"], "tab:green"),
            "fixed length": (fixed[name][0], "tab:blue"),
        }
        for offset, (kind, (found, color)) in enumerate(kinds.items()):
            mean, low, high = found["bias"]
            axis.bar(
                place + 0.25 * offset,
                mean,
                0.23,
                yerr=[[mean - max(low, 0)], [high - mean]],
                color=color,
                label=kind if place == 0 else None,
            )
    axis.set_xticks([x + 0.25 for x in range(len(fixed))], list(fixed))
    axis.set_ylabel(KINDS["bias"], fontsize=8)
    axis.set_title("The decision to stop", fontsize=9)
    # Room above the bars.
    axis.set_ylim(0, 1.2 * axis.get_ylim()[1])
    axis.legend(fontsize=7, ncols=3)


def _lines(axis, lines, shown, kind):
    """Means and intervals of some estimators along an axis."""
    for name in shown:
        points = lines[name]
        x = [point["value"] for point in points]
        y, low, high = zip(*(point[kind] for point in points))
        (line,) = axis.plot(x, y, "o-", label=name, markersize=3, linewidth=1)
        color = line.get_color()
        axis.fill_between(x, low, high, color=color, alpha=0.1, linewidth=0)
    axis.grid(color="0.9")
