"""The points that the options of a paper's command ask for."""

import math

#: What a number that moves rows must be, and whether it is.
_RANGES = {
    "lambda": ("at least 0", lambda x: x >= 0),
    "rho": ("in [0, 1]", lambda x: 0 <= x <= 1),
    "temperature": ("positive", lambda x: x > 0),
    "rate": ("positive", lambda x: x > 0),
}


def asked_grid(paper, options) -> list[dict]:
    """The grid that the options of a paper's command ask for.

    Raises:
        ValueError: If a number is out of its range, or moves none of the rows
            that are asked for.
    """
    axes = {}
    for name in paper.axes:
        values = getattr(options, name)
        if values is None:
            axes[name] = list(paper.usual.get(name, ()))
            continue
        _check_numbers(name, values)
        _check_moves(paper, name, options.methods)
        axes[name] = values
    seeds = options.seeds or paper.seeds.get(options.data)
    for seed in seeds or ():
        if not 0 <= seed < 2**32:
            raise ValueError(
                "`--seeds` must be in [0, 2**32). Received: --seeds "
                f"{','.join(map(str, seeds))}."
            )
    return paper.grid(options.methods, seeds, **axes)


def _check_numbers(name, values):
    rule, fits = _RANGES.get(name, ("finite", math.isfinite))
    for value in values:
        if not (math.isfinite(value) and fits(value)):
            raise ValueError(
                f"`{name}` must be {rule}. Received: {value:g} among those of "
                "the sweep."
            )


def _check_moves(paper, name, rows):
    """Refuses a number that would be asked for in vain."""
    movable = [row for row in paper.known() if row in paper.axes[name]]
    known = [row for row in rows if row in paper.known()]
    if known and not {*known} & {*movable}:
        raise ValueError(
            f"`{name}` must move a row that is trained. Received: values of "
            f"it with --methods {','.join(rows)}. It moves "
            f"{', '.join(movable)}."
        )
