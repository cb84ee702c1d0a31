"""Collects what is wrong with the entries of a file, to say it at once."""

from tfcap.io import malformed

_SHOWN = 5


def listed(places):
    """Names the first few of many things, and their number.

    Args:
        places: List of strings or numbers, not empty.

    Returns:
        String, such as `"1, 2, 3, 4, 5 and 37 more"`.

    Example:

    >>> from tfcap.data.entry_problems import listed
    >>> listed([7, 8, 9])
    '7, 8, 9'
    >>> listed(list(range(42)))
    '0, 1, 2, 3, 4 and 37 more'
    """
    # A name that is a whole damaged file helps nobody.
    shown = ", ".join(f"{str(place):.200}" for place in places[:_SHOWN])
    more = len(places) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


class EntryProblems:
    """Problems of the entries of one file.

    A file with one bad entry often has thousands, and whoever has to mend it
    wants to know of all kinds of them at once.

    Args:
        path: String or path of the file.

    Example:

    >>> from tfcap.data.entry_problems import EntryProblems
    >>> problems = EntryProblems("results.json")
    >>> problems.add("`caption` is missing", "entry 3", "Add it.")
    >>> problems.add("`caption` is missing", "entry 8", "Add it.")
    >>> problems.check()
    Traceback (most recent call last):
    ValueError: `path` must name a well-formed file. Received:
    path='results.json', where `caption` is missing in 2 places (entry 3,
    entry 8). Add it.
    """

    def __init__(self, path):
        self.path = path
        self._places = {}

    def add(self, problem, place, cure):
        """Notes a problem.

        Args:
            problem: String, a clause, the same for all entries that have it.
            place: String, the entry.
            cure: String, a sentence.
        """
        self._places.setdefault((problem, cure), []).append(place)

    def check(self):
        """Raises what was noted, if anything was.

        Raises:
            ValueError: Names the file, each problem with its first few
                entries and their number, and the cures.
        """
        if not self._places:
            return
        told = [
            f"{problem} in {len(places):,} place{'s'[: len(places) > 1]} "
            f"({listed(places)})"
            for (problem, _), places in self._places.items()
        ]
        cures = dict.fromkeys(cure for _, cure in self._places)
        raise malformed(self.path, "", "; ".join(told), " ".join(cures))
