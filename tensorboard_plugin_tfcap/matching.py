"""Regular expressions of requests, matched in a process of their own.

Python's engine backtracks: a short expression may take forever and keep all
other threads of the server waiting. The process has a second of CPU time.
"""

import functools
import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from dataclasses import field

from tensorboard_plugin_tfcap.query_error import QueryError

#: Seconds to wait for an answer, however busy the machine is.
_PATIENCE = 20
#: Characters without which an expression is searched for literally.
_SPECIAL = frozenset("\\.^$*+?{}[]()|")
_PROGRAM = """
import json, re, sys, warnings
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
except (ImportError, OSError, ValueError):
    pass
warnings.simplefilter("ignore")
pattern, names = json.load(sys.stdin)
try:
    matches = map(re.compile(pattern).search, names)
    found = [m and [m.end(), m.group(), m.groupdict()] for m in matches]
except (re.error, OverflowError, RecursionError) as error:
    found = str(error)
json.dump(found, sys.stdout)
"""
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Match:
    """A match: where it ends, its text, and its named groups."""

    end: int
    text: str
    groups: dict = field(default_factory=dict)


def search(argument: str, pattern: str, names) -> dict:
    """Searches names for a regular expression.

    Args:
        argument: String, the argument that holds the expression.

    Returns:
        Dict of `Match` by name, without names that do not match.

    Raises:
        QueryError: If it is not an expression, or takes too long.

    Example:

    >>> from tensorboard_plugin_tfcap.matching import search
    >>> list(search("runs", "seed=[01]$", ["a/seed=0", "a/seed=2"]))
    ['a/seed=0']
    """
    names = tuple(names)
    if not _SPECIAL & set(pattern):
        size = len(pattern)
        found = ((name, name.find(pattern)) for name in names)
        return {n: Match(at + size, pattern) for n, at in found if at >= 0}
    received = f"Received: {argument}={pattern!r:.120}"
    try:
        found = _answer(pattern, names)
    except subprocess.TimeoutExpired:
        found = None
    except OSError as error:
        raise QueryError(
            f"`{argument}` could not be matched: no process could be started "
            f"({error}). {received}. Try again."
        ) from error
    if found is None:
        raise QueryError(
            f"`{argument}` must be quick to match; it timed out. {received}. "
            "Avoid a repetition in a repetition, such as (a+)+."
        )
    if isinstance(found, str):
        raise QueryError(
            f"`{argument}` must be a regular expression. {received}: {found}."
        )
    return {n: Match(*match) for n, match in zip(names, found) if match}


# Failures of a busy machine are raised, and so not cached.
@functools.lru_cache(64)
def _answer(pattern, names):
    """Matches, an error's text, or `None` where it took too long."""
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM]
    with _one_at_a_time:
        done = subprocess.run(
            command,
            input=json.dumps([pattern, names]),
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
    return None if done.returncode else json.loads(done.stdout)
