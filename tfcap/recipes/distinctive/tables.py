"""Table 1 of distinctive captioning, as found in a sweep.

    python -m tfcap.recipes.distinctive.tables SWEEP [SWEEP ...]

prints, over seeds, means and 95 % intervals; and paired differences.
"""

from tfcap.recipes.captioning.score_tables import tables_main
from tfcap.recipes.distinctive.distinctive_tables import distinctive_tables


def main(argv=None):
    """Prints the tables of sweeps."""
    return tables_main(
        "python -m tfcap.recipes.distinctive.tables",
        "What a sweep over distinctive captions has found: tables.",
        distinctive_tables,
        argv,
    )


if __name__ == "__main__":
    raise SystemExit(main())
