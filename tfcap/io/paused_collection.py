"""Parsing without the garbage collector."""

import contextlib
import gc


@contextlib.contextmanager
def paused_collection():
    """Pauses Python's cyclic garbage collector.

    Parsing a large file makes millions of objects that stay and form no
    cycles: the collector would visit all of them again and again.

    Example:

    >>> import gc
    >>> from tfcap.io.paused_collection import paused_collection
    >>> with paused_collection():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()
