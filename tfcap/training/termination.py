"""The request to end, by which a scheduler takes a machine away."""

import signal
import sys
import threading


class Termination:
    """Notes SIGTERM while its block runs, for work to stop where it can.

    A second SIGTERM acts at once, as it would have without, and so does one
    that nobody has obeyed when the block ends. A handler that
    the program has set takes over once the work has stopped; a program that
    ignores SIGTERM goes on doing so. Outside of the main thread, where Python
    hears of no signals, nothing is noted.

    Args:
        runs: Function of a frame, whether the work is running in it; what
            comes after an error has ended the work, acts at once. Defaults to
            `None`, as long as the block.

    Attributes:
        requested: Boolean, whether SIGTERM has come.

    Example:

    >>> from tfcap.training.termination import Termination
    >>> with Termination() as termination:
    ...     print(termination.requested)
    False
    """

    def __init__(self, runs=None):
        self.requested = False
        self._runs = runs
        self._before = None
        self._noting = False

    def __enter__(self):
        main = threading.current_thread() is threading.main_thread()
        last = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
        if main and isinstance(last, Termination) and last._is_over():
            last._give_back()
        if main and signal.getsignal(signal.SIGTERM) != signal.SIG_IGN:
            self._before = signal.signal(signal.SIGTERM, self._note)
            self._noting = True
        return self

    def __exit__(self, kind, *_):
        self._give_back()
        if self.requested and kind is None:
            signal.raise_signal(signal.SIGTERM)

    def obey(self, sentence: str):
        """Ends the process with status 143, as SIGTERM does.

        Raises:
            SystemExit: Always, unless the program's own handler ends it.
        """
        if sentence:
            print(f"\n{sentence}", file=sys.stderr, flush=True)
        own = self._before
        self._give_back()
        if callable(own):
            signal.raise_signal(signal.SIGTERM)
        raise SystemExit(128 + signal.SIGTERM)

    def _note(self, number, frame):
        if self.requested or self._is_over(frame):
            self._give_back()
            signal.raise_signal(number)
        self.requested = True

    def _is_over(self, frame=None):
        """Check whether an error has ended the work before the block."""
        frame = frame or sys._getframe(1)
        return self._runs is not None and not self._runs(frame)

    def _give_back(self):
        if self._noting:
            # One that was not set by Python cannot be set again by it.
            signal.signal(signal.SIGTERM, self._before or signal.SIG_DFL)
            self._noting = False
