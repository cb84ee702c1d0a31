"""A function in several processes, for slow scores."""

import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

#: The function of a worker process.
_FUNCTION = []


def process_pool(function: Callable, number: int) -> ProcessPoolExecutor:
    """Makes a pool of processes that hold a function, for `called()`.

    The function is sent once, with its data. Processes start at the first call
    and import the main script again, which must therefore be guarded by
    `if __name__ == "__main__"`.

    Args:
        function: Callable of a module, or a partial of one.
        number: Integer, at least 1.

    Returns:
        `concurrent.futures.ProcessPoolExecutor`, for `pool.map(called, ...)`.
    """
    # Not by fork(): the caller may have threads, or use a GPU.
    return ProcessPoolExecutor(
        number, get_context("spawn"), _begin, (function,)
    )


def called(*arguments: Any) -> Any:
    """Calls the function of this worker process."""
    return _FUNCTION[0](*arguments)


def _begin(function):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # handled by the caller
    _FUNCTION[:] = [function]
