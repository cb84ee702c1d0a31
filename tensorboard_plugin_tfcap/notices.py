"""Sentences that say what was left out, and why."""

#: How many runs are named.
_MOST = 5


class Notices:
    """Gathers why records were left out.

    Example:

    >>> from tensorboard_plugin_tfcap.notices import Notices
    >>> notices = Notices()
    >>> for step in range(3):
    ...     notices.add("a/run", "is not JSON")
    >>> notices.sentences()
    ["3 records of run 'a/run' are left out: the first one is not JSON."]
    """

    def __init__(self):
        self._found = {}

    def add(self, run: str, reason):
        """Notes that a record of a run is left out."""
        count, first = self._found.get(run, (0, str(reason)))
        self._found[run] = count + 1, first

    def sentences(self):
        """List of the sentences."""
        sentences = []
        for run, (count, reason) in list(self._found.items())[:_MOST]:
            name = f"run {run!r:.120}"
            if count > 1:
                text = f"{count} records of {name} are left out: the first one"
            else:
                text = f"A record of {name} is left out: it"
            sentences.append(f"{text} {reason}.")
        if len(self._found) > _MOST:
            more = len(self._found) - _MOST
            sentences.append(f"Records of {more} other runs are left out, too.")
        return sentences
