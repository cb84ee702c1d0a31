"""A progress bar of work that takes a while."""

import sys
import threading
import time
from typing import TextIO

#: Seconds of work that need no bar, and between two drawings of one.
PATIENCE, _PERIOD = 2.0, 0.5
_WIDTH = 24


class ProgressBar:
    """Progress on the standard error, as soon as work has taken two seconds.

    On a terminal it is a bar, which moves on by itself while a program that
    tells nothing is at work; elsewhere each part that took that long leaves a
    line when it ends.

    Args:
        file: File to write to. Defaults to the standard error.
        quiet: Boolean, whether to write nothing at all. Defaults to `False`.

    Example:

    >>> from tfcap.text.progress_bar import ProgressBar
    >>> with ProgressBar() as progress:
    ...     progress("meteor", 0, 10)
    ...     progress("meteor", 10, 10)
    """

    def __init__(self, file: TextIO | None = None, quiet: bool = False):
        self._file = sys.stderr if file is None else file
        self._quiet = quiet
        self._live = not quiet and self._file.isatty()
        self._part = None  # name, done, total, when it began
        self._lock, self._ended = threading.Lock(), threading.Event()

    def __enter__(self) -> "ProgressBar":
        self._begun = time.monotonic()
        if self._live:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error):
        self._ended.set()
        if self._live:
            self._thread.join()
            self._write("\r\033[K")

    def __call__(self, name: str, done: int, total: int):
        """Notes that so much of a part is done; draws it where it is time."""
        now = time.monotonic()
        with self._lock:
            same = self._part is not None and self._part[0] == name
            begun = self._part[3] if same else now
            self._part = name, done, total, begun
        if self._live:
            self._draw()
        elif done >= total and not self._quiet and now - begun >= PATIENCE:
            self._write(
                f"{name:11} {done:>9,}/{total:,} {now - begun:6.1f} s\n"
            )

    def _watch(self):
        while not self._ended.wait(_PERIOD):
            self._draw()

    def _draw(self):
        now = time.monotonic()
        if self._part is None or now - self._begun < PATIENCE:
            return
        with self._lock:
            name, done, total, begun = self._part
        filled = "#" * (_WIDTH * done // max(total, 1))
        self._write(
            f"\r\033[K{name:11} [{filled:{_WIDTH}}] {done:,}/{total:,} "
            f"{now - begun:.1f} s"
        )

    def _write(self, text):
        self._file.write(text)
        self._file.flush()
