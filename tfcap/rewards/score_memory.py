"""Scores that are not asked for twice."""

import hashlib
from collections import OrderedDict


class ScoreMemory:
    """The scores of what was last scored; the longest unused are forgotten.

    Args:
        size: Integer, number of scores kept at most.
    """

    def __init__(self, size):
        self.size = size
        self._scores = OrderedDict()

    def scores(self, pairs, find):
        """Scores of captions, found now where they are not known.

        Args:
            pairs: List of pairs, a caption and a list of strings that it is
                scored against.
            find: Function from a list of places in `pairs` to as many scores.

        Returns:
            List of floats.
        """
        names = [_name(caption, others) for caption, others in pairs]
        known = {n: self._scores[n] for n in names if n in self._scores}
        places = [i for i, name in enumerate(names) if name not in known]
        known |= {names[i]: s for i, s in zip(places, find(places))}
        for name in names:
            self._scores[name] = known[name]
            self._scores.move_to_end(name)
        while len(self._scores) > self.size:
            self._scores.popitem(last=False)
        return [known[name] for name in names]


def _name(caption, others):
    # What is kept of a long text must be short, and never another's.
    text = "\n".join([caption, *others]).encode()
    return hashlib.blake2b(text, digest_size=16).digest()
