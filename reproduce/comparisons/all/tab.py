"""The figure of all methods in the Trade-off tab of TensorBoard."""

import os

from reproduce.comparisons.all.rows import DEFAULT
from reproduce.comparisons.all.runs import title_of
from tensorboard_plugin_tfcap.summary import write_comparison

_CIDER = {"title": "CIDEr-D", "x": "cider_d"}
_COST = {"title": "CPU seconds", "x": "cpu_seconds"}
_FIT = {"title": "strangers' CLIPScore", "x": "strangers_clip_score"}
#: The panels, each a figure to ask for by name.
_FIGURES = (
    ("recall by the own listener, or the one for all", "r@10", _CIDER),
    ("recall by strangers", "strangers_r@10", _CIDER),
    ("distinct captions", "distinct_captions", _CIDER),
    ("recall by strangers, against CLIPScore", "strangers_r@10", _FIT),
    ("recall by strangers, against CPU seconds", "strangers_r@10", _COST),
)
PRESETS = tuple(
    {
        "id": f"all_{number}",
        "title": f"All methods: {title}",
        "y": name,
        "panels": [panel],
    }
    for number, (title, name, panel) in enumerate(_FIGURES)
)


def write_axes(directory, data=""):
    """Writes titles and figures of all methods, unless they are there.

    Args:
        data: String, the data set of the log, `""` where it is not known.
    """
    if os.path.isdir(directory) and os.listdir(directory):
        return
    titles = {method: title_of(method) for method in DEFAULT}
    write_comparison(directory, titles, PRESETS, data=data)
