"""Table 1 of distinctive captioning, as found in a sweep.

    python -m reproduce.distinctive.tables SWEEP [SWEEP ...]

prints, over seeds, means and 95 % intervals; and paired differences.
"""

from reproduce.captioning.score_tables import tables_main
from reproduce.distinctive.distinctive_tables import distinctive_tables


def main(argv=None):
    """Prints the tables of sweeps."""
    return tables_main(
        "python -m reproduce.distinctive.tables",
        "What a sweep over distinctive captions has found: tables.",
        distinctive_tables,
        argv,
    )


if __name__ == "__main__":
    raise SystemExit(main())
