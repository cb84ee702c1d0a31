"""The scores that a Python function gives captions."""

import asyncio
import functools
import hashlib
import math
import threading
import warnings
from collections import OrderedDict
from collections.abc import Awaitable
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Set
from typing import Any

import numpy as np

from tfcap.rewards.reward import ABSTAINED

_LOCK = threading.Lock()


class ScoreMemory:
    """The scores that were last used; the longest unused are forgotten.

    Args:
        size: Integer, number of scores kept at most.
    """

    def __init__(self, size: int):
        self.size = size
        self._scores = OrderedDict()

    def scores(self, pairs: list, find: Callable) -> list:
        """Scores of captions, asked for where they are not known."""
        names = [_digest(caption, others) for caption, others in pairs]
        known = {n: self._scores[n] for n in names if n in self._scores}
        new = [i for i, name in enumerate(names) if name not in known]
        known |= {names[i]: s for i, s in zip(new, find(new))}
        for name in names:
            # What failed is asked again.
            if math.isfinite(known[name]) or known[name] == ABSTAINED:
                self._scores[name] = known[name]
                self._scores.move_to_end(name)
        while len(self._scores) > self.size:
            self._scores.popitem(last=False)
        return [known[name] for name in names]


def checked_scores(scores: Any, captions: list[str], name: str) -> list[float]:
    """Returns a function's scores as floats, minus infinity for `None`.

    What is not finite is told with its caption, and left to the training
    model, which ends or skips the step.

    Raises:
        ValueError: If they are no n numbers.
    """
    try:
        given = list(scores)
        # NumPy reads digits as numbers, and a dict or a set has no order.
        if isinstance(scores, Mapping | Set) or any(
            isinstance(score, str | bytes) for score in given
        ):
            raise TypeError
        known = np.array([score is not None for score in given], bool)
        values = np.asarray([x if x is not None else 0 for x in given], float)
        received = f"an array of shape {values.shape}"
    except (TypeError, ValueError, OverflowError):
        values, received = np.zeros(()), f"{scores!r:.200}"
    if values.shape != (len(captions),):
        raise ValueError(
            f"`function` of the reward {name!r} must return a number, or None "
            f"to abstain, for each of {len(captions)} captions. Received: "
            f"{received}."
        )
    for place in np.flatnonzero(~np.isfinite(values))[:1]:
        warnings.warn(
            f"The reward {name!r} is {values[place]} for {captions[place]!r}. "
            "Return None to abstain from a caption.",
            stacklevel=1,
        )
    values[values == ABSTAINED] = np.nan
    return np.where(known, values, ABSTAINED).tolist()


def awaited(scores: Awaitable) -> Any:
    """Waits for scores, in an event loop of all rewards, in its own thread.

    A notebook runs a loop of its own; and sessions of a client, which belong
    to one loop, last longer than a step.
    """
    with _LOCK:
        loop = _loop()
    return asyncio.run_coroutine_threadsafe(_result(scores), loop).result()


@functools.cache
def _loop():
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


async def _result(scores):
    return await scores


def _digest(caption, others):
    # What is kept of a long text must be short, and never another's: a text
    # may hold any character that would part it from the next.
    text = repr((caption, *others)).encode()
    return hashlib.blake2b(text, digest_size=16).digest()
