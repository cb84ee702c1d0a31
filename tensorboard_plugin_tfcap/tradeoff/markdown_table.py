"""Tables as people keep them."""


def markdown_table(head, rows, numbers=True):
    """A Markdown table that also reads well as it is.

    Args:
        head: List of strings.
        rows: List of lists of as many strings.
        numbers: Boolean, whether all but the first column are numbers, which
            stand to the right. Defaults to `True`.

    Returns:
        String, without a line break at its end.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff import markdown_table
    >>> rows = [["lf_g", "41.83"]]
    >>> print(markdown_table.markdown_table(["row", "R@1"], rows))
    | row  |   R@1 |
    |------|------:|
    | lf_g | 41.83 |
    """
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    right = [numbers and place > 0 for place in range(len(head))]
    lines = [
        [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right)]
        for row in (head, *rows)
    ]
    lines = ["| " + " | ".join(cells) + " |" for cells in lines]
    rule = [
        "-" * (width + 1) + ":" if r else "-" * (width + 2)
        for width, r in zip(widths, right)
    ]
    return "\n".join([lines[0], "|" + "|".join(rule) + "|", *lines[1:]])
