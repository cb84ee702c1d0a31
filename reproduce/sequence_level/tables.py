"""The tables of both papers, as found in a sweep.

    python -m reproduce.sequence_level.tables SWEEP [SWEEP ...]

prints, over seeds, means and 95 % intervals; and paired differences.
"""

from reproduce.captioning.score_tables import tables_main
from reproduce.sequence_level.sequence_tables import sequence_tables


def main(argv=None):
    """Prints the tables of sweeps."""
    return tables_main(
        "python -m reproduce.sequence_level.tables",
        "What a sweep over rewards has found: tables.",
        sequence_tables,
        argv,
    )


if __name__ == "__main__":
    raise SystemExit(main())
