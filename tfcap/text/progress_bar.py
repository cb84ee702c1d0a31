"""A progress bar for long work."""

import sys
import time

#: Seconds before a bar is shown, and between two updates.
PATIENCE, _PERIOD = 2.0, 0.5
_WIDTH = 24


class ProgressBar:
    """Progress on standard error, for work of more than two seconds.

    On a terminal it is a bar; elsewhere, each part that takes that long prints
    a line when it ends.

    Args:
        quiet: Boolean, whether to write nothing. Defaults to `False`.

    Example:

    >>> from tfcap.text.progress_bar import ProgressBar
    >>> with ProgressBar() as progress:
    ...     progress("meteor", 0, 10)
    ...     progress("meteor", 10, 10)
    """

    def __init__(self, quiet: bool = False):
        self._file = sys.stderr
        self._quiet = quiet
        self._live = not quiet and self._file.isatty()
        self._name, self._began = None, 0.0
        # When the next bar is due.
        self._next = time.monotonic() + PATIENCE

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *error):
        if self._live:
            self._write("\r\033[K")

    def __call__(self, name: str, done: int, total: int):
        """Records how much of a part is done; updates the bar when due."""
        now = time.monotonic()
        if name != self._name:
            self._name, self._began = name, now
        took = now - self._began
        if self._live and now >= self._next:
            filled = "#" * (_WIDTH * done // max(total, 1))
            self._write(
                f"\r\033[K{name:11} [{filled:{_WIDTH}}] {done:,}/{total:,} "
                f"{took:.1f} s"
            )
            self._next = now + _PERIOD
        elif not self._live and done >= total and took >= PATIENCE:
            self._write(f"{name:11} {done:>9,}/{total:,} {took:6.1f} s\n")

    def _write(self, text):
        if not self._quiet:
            self._file.write(text)
            self._file.flush()
