"""Tables as text to paste: Markdown, LaTeX, CSV."""

from tensorboard_plugin_tfcap.figure_view import figure_view
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.table_view import area_table
from tensorboard_plugin_tfcap.table_view import level_tables
from tensorboard_plugin_tfcap.table_view import rows_table

FORMATS = {
    "markdown": ("text/plain", lambda table: table.markdown()),
    "latex": ("text/plain", lambda table: table.latex()),
    "csv": ("text/csv", lambda table: table.csv()),
}
TABLES = ("level", "other", "area", "points")


def table_text(selection, form, name=None) -> str:
    """Tables of a selection as text.

    Args:
        name: One of `TABLES`, or `None` for all that exist; for CSV, which
            holds one, the points.

    Raises:
        QueryError: If there is no such form or table.
    """
    if form not in FORMATS or name not in (None, *TABLES):
        raise QueryError(
            f"`format` must be one of {', '.join(FORMATS)}, and `table` one "
            f"of {', '.join(TABLES)}. Received: format={form!r:.40}, "
            f"table={name!r:.40}."
        )
    if form == "csv" and name is None:
        name = "points"
    tables = {}
    if selection.curves and selection.joined:
        tables = level_tables(selection, selection.line())
        tables["area"] = area_table(selection)
    if name == "points":
        tables["points"] = rows_table(figure_view(selection), selection)
    chosen = [t for key, t in tables.items() if name in (None, key)]
    if not chosen:
        raise QueryError(
            f"`table` must be one of this figure. Received: table={name!r}. "
            "Draw a line with `along` and `value`."
        )
    write = FORMATS[form][1]
    return "\n\n".join(write(table).rstrip("\n") for table in chosen) + "\n"
