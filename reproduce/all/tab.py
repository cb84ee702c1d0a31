"""The figure of all methods in the Trade-off tab of TensorBoard."""

import os

from reproduce.all.rows import DEFAULT
from reproduce.all.runs import title_of
from tensorboard_plugin_tfcap.summary import write_comparison

#: The panels, each a figure to ask for by name.
_FIGURES = {
    "r@10": "All methods: recall by the own listener, or the one for all",
    "strangers_r@10": "All methods: recall by strangers",
    "distinct_captions": "All methods: distinct captions",
}
PRESETS = tuple(
    {
        "id": f"all_{number}",
        "title": title,
        "y": name,
        "panels": [{"title": "CIDEr-D", "x": "cider_d"}],
    }
    for number, (name, title) in enumerate(_FIGURES.items())
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
