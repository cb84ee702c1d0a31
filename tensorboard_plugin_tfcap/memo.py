"""Results by time series, kept from one request to the next."""

import threading
from collections import OrderedDict

#: How many kinds of results are kept.
_MOST = 12


class SeriesMemo:
    """Keeps what was computed from each series until that series changes.

    Of a growing log, only series that have changed are read again.

    Example:

    >>> from tensorboard_plugin_tfcap.memo import SeriesMemo
    >>> memo, made = SeriesMemo(), []
    >>> def double(keys):
    ...     made.extend(keys)
    ...     return {key: 2 * key for key in keys}
    >>> memo.results("double", {1: "a", 2: "a"}, double)
    {1: 2, 2: 4}
    >>> memo.results("double", {1: "a", 2: "b"}, double)
    {1: 2, 2: 4}
    >>> made
    [1, 2, 2]
    """

    def __init__(self):
        self._kinds = OrderedDict()
        self._lock = threading.Lock()

    def results(self, kind, revisions, make) -> dict:
        """Results by key, of those that have one.

        Args:
            kind: Hashable, what is computed from the series.
            revisions: Dict by key; a revision changes with its series.
            make: Callable from a list of keys to a dict of results.
        """
        with self._lock:
            kept = self._kinds.get(kind, {})
        stale = [
            key
            for key, revision in revisions.items()
            if key not in kept or kept[key][0] != revision
        ]
        made = make(stale) if stale else {}
        old = set(revisions) - set(stale)
        fresh = {
            key: (revision, made[key] if key in made else kept[key][1])
            for key, revision in revisions.items()
            if key in made or key in old
        }
        with self._lock:
            self._kinds[kind] = fresh
            self._kinds.move_to_end(kind)
            while len(self._kinds) > _MOST:
                self._kinds.popitem(last=False)
        return {key: result for key, (_, result) in fresh.items()}

    def result(self, kind, revision, make):
        """The result of `make()`, until the revision changes."""
        found = self.results(kind, {kind: revision}, lambda _: {kind: make()})
        return found[kind]
