"""One function in several processes, for scores that take long."""

import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

#: In a worker process, its function.
_FUNCTION = []


def process_pool(function: Callable, number: int) -> ProcessPoolExecutor:
    """Makes processes that know a function, which `called()` calls.

    The function is sent once, with what it holds. Processes start when they
    are first asked, and begin with the script again, which must therefore be
    guarded by `if __name__ == "__main__"`.

    Args:
        function: Callable of a module, or a partial of one.
        number: Integer, at least 1.

    Returns:
        `concurrent.futures.ProcessPoolExecutor`, for `pool.map(called, ...)`.
    """
    # Not by fork(): the caller may hold threads, or a GPU.
    return ProcessPoolExecutor(
        number, get_context("spawn"), _begin, (function,)
    )


def called(*arguments: Any) -> Any:
    """Calls the function of this worker process."""
    return _FUNCTION[0](*arguments)


def _begin(function):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # handled by the caller
    _FUNCTION[:] = [function]
