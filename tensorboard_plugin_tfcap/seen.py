"""Memory of the methods of a log, in the order in which they appeared."""

import threading
from dataclasses import replace

#: How many logs and groupings are remembered.
_MOST = 100


class SeenMethods:
    """Keeps the colors of methods while others come and go.

    A method that is logged later is placed after those that are there,
    whatever its name; one that is deleted keeps its place.

    Example:

    >>> from tensorboard_plugin_tfcap.dataset import Dataset
    >>> from tensorboard_plugin_tfcap.seen import SeenMethods
    >>> from tensorboard_plugin_tfcap.tradeoff import TradeoffPoint
    >>> seen = SeenMethods()
    >>> for methods in (["b"], ["a", "b"], ["a", "c"]):
    ...     points = [TradeoffPoint(name, name) for name in methods]
    ...     dataset = Dataset("points", "", points, {})
    ...     print(seen.ordered("log", dataset).known)
    ('b',)
    ('b', 'a')
    ('b', 'a', 'c')
    """

    def __init__(self):
        self._titles = {}
        self._lock = threading.Lock()

    def ordered(self, key, dataset):
        """A data set that knows the order in which its methods appeared."""
        with self._lock:
            # The one that was asked for last is dropped last.
            titles = self._titles[key] = self._titles.pop(key, {})
            if len(self._titles) > _MOST:
                del self._titles[next(iter(self._titles))]
            known = replace(dataset, seen=tuple(titles)).known
            titles.update(dict.fromkeys(known))
            return replace(dataset, seen=tuple(titles))
