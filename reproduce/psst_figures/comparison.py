"""PSST's titles, figures and published results in a log for TensorBoard."""

import os

from reproduce.psst_figures.figure import LETTERS
from reproduce.psst_figures.methods import ALONE
from reproduce.psst_figures.methods import RHO_ENDS
from reproduce.psst_figures.methods import TITLES
from reproduce.psst_figures.methods import method_title
from reproduce.psst_figures.methods import published_references
from tensorboard_plugin_tfcap.summary import write_comparison

#: Figure 3 and the lines that Tables 1 and 2 are read off at.
PRESETS = (
    {
        "id": "fig3",
        "title": "Figure 3 (a-f)",
        "y": "r@10",
        "usual": {"rho": 0.25},
        "panels": [
            *(
                {"title": f"({letter}) {title}", "x": name}
                for name, (letter, title) in LETTERS.items()
            ),
            {
                "title": "(f)",
                "x": "cider_d",
                "parameter": "rho",
                "ends": RHO_ENDS,
            },
        ],
    },
    {
        "id": "table1",
        "title": "Table 1: naturalness at recall@5 = 80 %",
        **{"x": "cider_d", "y": "r@5", "along": "y", "value": 80.0},
    },
    {
        "id": "table2",
        "title": "Table 2: recall at CIDEr-D = 1.2",
        **{"x": "cider_d", "y": "r@10", "along": "x", "value": 1.2},
    },
)


def write_psst_comparison(directory, data=""):
    """Writes PSST's titles, presets and tables, unless they are there.

    Args:
        data: String, the data set of the log, `""` where it is not known.

    Example:

    >>> import os, tempfile
    >>> from reproduce.psst_figures import write_psst_comparison
    >>> folder = os.path.join(tempfile.mkdtemp(), "psst")
    >>> write_psst_comparison(folder)
    >>> write_psst_comparison(folder)
    >>> len(os.listdir(folder))
    1
    """
    if os.path.isdir(directory) and os.listdir(directory):
        return
    # The code's settings of a method follow the paper's, which set the looks.
    titles = {**TITLES, **ALONE}
    titles |= {f"{m}_code": method_title(f"{m}_code") for m in TITLES}
    references = [vars(reference) for reference in published_references()]
    write_comparison(directory, titles, PRESETS, references, data)
