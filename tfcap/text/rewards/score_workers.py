"""Processes that score captions side by side."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable

import numpy as np

from tfcap.text.rewards.score_texts import score_texts

_PROGRAM = (
    "from tfcap.text.rewards.score_workers import serve_scores; serve_scores()"
)


class ScoreWorkers:
    """Some processes, each with a score, that share captions out.

    They are programs of their own rather than copies of the caller's process,
    which may hold a GPU and threads, and they do not import the caller's main
    module. They end with the caller, or when this object is gone.

    Args:
        score: Callable, see `score_texts()`, that `pickle` can write: a
            function of a module, or a `functools.partial` of one.
        number: Integer, processes.

    Raises:
        TypeError: If `score` cannot be sent to another process.

    Example:

    >>> from tfcap.text.rewards.score_workers import ScoreWorkers
    >>> workers = ScoreWorkers(tfcap.text.rouge_l, 1)
    >>> workers.scores(["a cat"], [["a cat", "the cat"]])
    [1.0]
    """

    def __init__(self, score: Callable, number: int):
        try:
            self._score = pickle.dumps(score)
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise TypeError(
                "`score` must be a function of a module, or a partial of one, "
                f"to be sent to other processes. Received: {score!r} "
                f"({error}). Pass num_workers=0, or put it into a module."
            ) from error
        self._number, self._owner, self._processes = number, None, []

    def scores(self, captions: list[str], references: list) -> list[float]:
        """Scores of captions by their references, see `score_texts()`.

        Raises:
            RuntimeError: If a process has died.
        """
        if self._owner != os.getpid():  # not started, or a copy's by fork()
            self._start()
        parts = np.array_split(np.arange(len(captions)), self._number)
        parts = [part.tolist() for part in parts if len(part)]
        asked = list(zip(self._processes, parts))
        try:
            for process, part in asked:
                pairs = (
                    [captions[i] for i in part],
                    [references[i] for i in part],
                )
                pickle.dump(pairs, process.stdin)
                process.stdin.flush()
            answers = [pickle.load(process.stdout) for process, _ in asked]
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            ended = [process.poll() for process in self._processes]
            self.close()
            raise RuntimeError(
                "A process that scores captions has died, perhaps for lack of "
                f"memory. Received: exit statuses {ended}. Start fewer of them "
                f"than num_workers={self._number}."
            ) from error
        except BaseException:
            # Answers that are still to come would be taken for the next ones.
            self.close()
            raise
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return [score for answer in answers for score in answer]

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
            for _ in range(self._number)
        ]
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(
            self, _end, self._processes, self._owner
        )
        for process in self._processes:
            process.stdin.write(self._score)


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


def serve_scores():
    """Scores what comes on the standard input, until it ends.

    First comes the score, then pairs of captions and references, all pickled;
    an answer is a list of floats, or the exception that was raised.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller's affair
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What a score prints must not come between the answers.
    os.dup2(2, 1)
    score, failure = None, None
    try:
        score = pickle.load(source)
    except (AttributeError, ImportError) as error:
        failure = error
    while True:
        try:
            pairs = pickle.load(source)
        except EOFError:
            return
        try:
            answer = failure or score_texts(score, *pairs).tolist()
        except Exception as error:
            answer = error
        target.write(_pickled(answer))
        target.flush()


def _pickled(answer):
    """An answer as bytes; an exception that cannot be sent by its message."""
    try:
        content = pickle.dumps(answer)
        pickle.loads(content)
    except Exception as error:
        name = type(answer).__name__
        answer = RuntimeError(f"{name}: {answer} (not sent itself: {error})")
        content = pickle.dumps(answer)
    return content
