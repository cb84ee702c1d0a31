"""A cache of what was read from a log, valid while the log is the same."""

import threading
from collections import OrderedDict


class RevisionCache:
    """Keeps a few results, each as long as its revision holds.

    Args:
        most: Integer, results that are kept. Defaults to `12`.

    Example:

    >>> from tensorboard_plugin_tfcap.cache import RevisionCache
    >>> cache = RevisionCache()
    >>> cache.get("points", "a", lambda: 1), cache.get("points", "a", list)
    (1, 1)
    >>> cache.get("points", "b", lambda: 2)
    2
    """

    def __init__(self, most=12):
        self._most = most
        self._found = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key, revision, make):
        """Returns the cached value of a key, or else that of `make()`."""
        with self._lock:
            kept = self._found.get(key)
            if kept is not None and kept[0] == revision:
                self._found.move_to_end(key)
                return kept[1]
        made = make()
        with self._lock:
            self._found[key] = revision, made
            self._found.move_to_end(key)
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        return made
