"""Processes that call a function side by side."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

_PROGRAM = "from tfcap.text.worker_processes import serve; serve()"


class WorkerProcesses:
    """Some processes, each with the same function.

    They are programs of their own rather than copies of the caller's process,
    which may hold a GPU and threads, and they do not import the caller's main
    module. They end with the caller, or when this object is gone.

    Args:
        function: Callable that `pickle` can write: a function of a module, or
            a `functools.partial` of one.
        number: Integer, processes, at least one.

    Raises:
        ValueError: If `number` is below 1.
        TypeError: If `function` cannot be sent to another process.

    Example:

    >>> from tfcap.text.worker_processes import WorkerProcesses
    >>> workers = WorkerProcesses(tfcap.text.caption_tokenize, 1)
    >>> workers.map([("A cat.",)])
    [['a', 'cat']]
    """

    def __init__(self, function: Callable, number: int):
        if number < 1:
            # Who asks for none does without this class.
            raise ValueError(
                "`num_workers` must be at least 0. Received: "
                f"num_workers={number}."
            )
        try:
            self._function = pickle.dumps(function)
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise TypeError(
                "`function` must be that of a module, or a partial of one, to "
                f"be sent to other processes. Received: {function!r} "
                f"({error}). Pass num_workers=0, or put it into a module."
            ) from error
        self.number, self._owner, self._processes = number, None, []
        # Threads of the caller take turns.
        self._lock = threading.Lock()

    def map(self, parts: Sequence[tuple]) -> list:
        """Calls the function with the arguments of each part.

        Args:
            parts: List of tuples of arguments, one a process at most.

        Returns:
            List of what the calls return.

        Raises:
            RuntimeError: If a process has died.
            Exception: What the function raises.
        """
        with self._lock:
            answers = self._answers(parts)
        for failure, _ in answers:
            if failure is not None:
                raise failure
        return [answer for _, answer in answers]

    def _answers(self, parts):
        if self._owner != os.getpid():  # not started, or a copy's by fork()
            self._start()
        asked = list(zip(self._processes, parts, strict=False))
        try:
            for process, arguments in asked:
                pickle.dump(arguments, process.stdin)
                process.stdin.flush()
            return [pickle.load(process.stdout) for process, _ in asked]
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            ended = [process.poll() for process in self._processes]
            self.close()
            raise RuntimeError(
                "A worker process has died, perhaps for lack of memory. "
                f"Received: exit statuses {ended}. Start fewer of them than "
                f"num_workers={self.number}."
            ) from error
        except BaseException:
            # Answers that are still to come would be taken for the next ones.
            self.close()
            raise

    def close(self):
        """Ends the processes; the next call starts others."""
        if self._owner == os.getpid():
            self._finalizer()
        self._owner, self._processes = None, []

    def _start(self):
        path = [os.getcwd() if part == "" else part for part in sys.path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
            for _ in range(self.number)
        ]
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(
            self, _end, self._processes, self._owner
        )
        for process in self._processes:
            process.stdin.write(self._function)


def _end(processes: list, owner: int):
    """Ends processes that belong to this one."""
    if owner != os.getpid():
        return
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()


def serve():
    """Calls a function with what comes on the standard input, to its end.

    First comes the function, then tuples of arguments, all pickled; an answer
    is a pair of the exception that was raised, or None, and the result.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller's affair
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What a function prints must not come between the answers.
    os.dup2(2, 1)
    function, unread = None, None
    try:
        function = pickle.load(source)
    except (AttributeError, ImportError) as error:
        unread = error
    while True:
        try:
            arguments = pickle.load(source)
        except EOFError:
            return
        answer = (unread, None) if unread else _called(function, arguments)
        pickle.dump(answer, target)
        target.flush()


def _called(function: Callable, arguments: tuple) -> tuple[Any, Any]:
    """An answer; an exception that cannot be sent becomes its message."""
    try:
        return None, function(*arguments)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception as other:
            name = type(error).__name__
            return RuntimeError(f"{name}: {error} (itself: {other})"), None
        return error, None
