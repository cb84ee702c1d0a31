"""A sweep over the rows of a study, and seeds."""

from reproduce.captioning.study_sweep import study_sweep


def row_grid(kind, rows, seeds=(0,), **axes):
    """The grid of a sweep, seed by seed.

    Args:
        kind: Subclass of `RewardStudy`.
        rows: Iterable of strings, keys of its `rows`, or among its
            `pretrained`.
        seeds: Iterable of integers.
        **axes: By the name of a setting, its values, none for that of the
            study, and the rows that it moves.

    Returns:
        List of dicts, as `reproduce.sweep.Sweep` takes.
    """
    known = [*kind.pretrained, *kind.rows]
    grid = []
    for seed in seeds:
        for row in rows:
            if row not in known:
                raise ValueError(
                    f"`rows` must be among {', '.join(known)}. Received: "
                    f"{row!r}."
                )
            moved = {
                name: list(values)
                for name, (values, movable) in axes.items()
                if values and row in movable
            }
            grid.append({"method": row, "seed": seed, **moved})
    return grid


def row_sweep(kind, directory, data, settings, grid, verbose=1, **options):
    """Trains and evaluates the rows of a grid; see `study_sweep()`."""

    def find(study, point):
        point = dict(point)
        row, _ = point.pop("method"), point.pop("seed")
        return study.result(row, **point), study.report(row, **point)

    return study_sweep(
        kind, find, directory, data, settings, grid, verbose, **options
    )
