import contextlib
import io

import pytest

from tfcap.text import progress_bar
from tfcap.text.progress_bar import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that shows the seconds that are in it."""
    seconds = [0.0]
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: seconds[0])
    return seconds


def written(file, clock, **options):
    """What is written while two parts take one and four seconds."""
    seconds = iter([0.0, 1.0, 1.0, 3.0, 5.0])
    done = [("bleu", 0, 8), ("bleu", 8, 8)]
    done += [("meteor", number, 1000) for number in (0, 500, 1000)]
    redirected = contextlib.redirect_stderr(file)
    with redirected, ProgressBar(**options) as progress:
        for clock[0], arguments in zip(seconds, done):
            progress(*arguments)
    return file.getvalue()


def test_a_line_is_left_by_what_took_two_seconds(clock):
    text = written(io.StringIO(), clock)
    assert text == "meteor          1,000/1,000    4.0 s\n"
    assert written(io.StringIO(), clock, quiet=True) == ""


def test_a_terminal_has_a_bar_after_two_seconds(clock):
    text = written(Terminal(), clock)
    assert "bleu" not in text and "500/1,000 2.0 s" in text
    assert f"[{'#' * 12}{' ' * 12}]" in text and text.endswith("\r\x1b[K")
    assert written(Terminal(), clock, quiet=True) == ""
