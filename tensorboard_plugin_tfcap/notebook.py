"""The figure in a notebook."""

import html
import os
from dataclasses import dataclass

from tensorboard_plugin_tfcap.file_writer import write_whole

#: Widths in inches by name, of one column and of two.
WIDTHS = {"single": 3.3, "double": 6.9}


def show_tradeoff(logdir, comparison=None, **options):
    """Shows the figure of a log with its tables, such as in a notebook.

    Args:
        logdir: String or path, as TensorBoard takes it.
        comparison: String or path of a JSON file that says how the log is
            presented. See `comparison.load_comparison()`. Optional.
        **options: Those of the tab and of `tfcap-report`, see `query.Query`:
            `x` and `y`, metrics; `order`, a parameter; `runs`, a regular
            expression; `seeds`, `"points"`, `"interval"`, `"band"` or
            `"none"`; `at`, a checkpoint; `preset`, one of the log; `refs`,
            `pareto`, `dark`; `along` and `value`, a line, `"off"` for none;
            `baseline` and `hide`, titles of methods; and so on.

    Returns:
        `TradeoffFigure`, which notebooks and `nbconvert` show.

    Raises:
        TypeError: If there is no such option.
        ValueError: If the folder or a metric is absent, or there is nothing
            to draw.

    Example:

    >>> import tempfile
    >>> from tensorboard_plugin_tfcap.summary import TradeoffWriter
    >>> folder = tempfile.mkdtemp()
    >>> with TradeoffWriter(folder, "mine") as writer:
    ...     writer.point(0, {"cider_d": 1.1, "r@10": 70.0})
    >>> tfcap.show_tradeoff(folder).title
    'recall@10 against CIDEr-D'
    """
    # Imported here, since training needs no figures.
    from tensorboard_plugin_tfcap.shown import read_log
    from tensorboard_plugin_tfcap.shown import shown_of

    shown = shown_of(read_log(logdir), logdir, comparison, options)
    return TradeoffFigure(shown, bool(options.get("dark")))


@dataclass(frozen=True)
class TradeoffFigure:
    """A figure with its tables.

    Args:
        shown: `shown.Shown`, its content.
        dark: Boolean, whether the background is dark. Defaults to `False`.
    """

    shown: object
    dark: bool = False

    @property
    def title(self) -> str:
        """Title of the figure."""
        return self.shown.title

    @property
    def tables(self) -> list:
        """List of `TradeoffTable`: at the line, areas, and all points."""
        return self.shown.tables

    def save(
        self,
        path,
        width: float | str = "single",
        font_size: float = 8.0,
        font: str = "sans-serif",
        note: bool = True,
    ):
        """Writes the figure as a file for print.

        Args:
            path: String or path that ends in `.svg`, `.pdf` or `.png`.
            width: Float in inches, `"single"` for 3.3, the width of a column,
                or `"double"` for 6.9. Defaults to `"single"`.
            font_size: Float, points. Defaults to `8.0`.
            font: String, a family. Defaults to `"sans-serif"`.
            note: Boolean, whether a note below says how to read the figure.
                Defaults to `True`.

        Raises:
            ImportError: If Matplotlib is not installed.
            ValueError: If an option has an unknown value.
        """
        from tensorboard_plugin_tfcap.picture_file import Sheet
        from tensorboard_plugin_tfcap.picture_file import picture_bytes

        form = os.path.splitext(os.fspath(path))[1].removeprefix(".")
        inches = WIDTHS.get(width, width)
        sheet = Sheet(form, inches, font_size, font, note)
        data = picture_bytes(self.shown, sheet)
        write_whole(path, data)

    def plotly(self):
        """The figure as `plotly.graph_objects.Figure`, to zoom into."""
        import plotly.graph_objects as go

        return go.Figure(self.shown.plotly(self.dark))

    def _repr_html_(self) -> str:
        from tensorboard_plugin_tfcap.report_parts import table_html

        *tables, points = map(table_html, self.tables)
        notices = (f"<p>{html.escape(n)}</p>" for n in self.shown.notices)
        # Plotly is included: a saved page needs no network.
        figure = self.plotly().to_html(include_plotlyjs=True, full_html=False)
        return (
            f"{''.join(notices)}{figure}{''.join(tables)}<details><summary>The "
            f"figure as a table</summary>{points}</details>"
        )
