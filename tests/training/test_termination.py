import signal
import subprocess
import sys
import threading

import pytest

from tfcap.training.termination import Termination

SIGTERM = signal.SIGTERM
pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="has no such signal"
)


@pytest.fixture(autouse=True)
def own():
    """A program's own handler, which notes that it was called."""
    heard = []
    before = signal.signal(SIGTERM, lambda *_: heard.append(True))
    yield heard
    signal.signal(SIGTERM, before)


def test_a_program_s_own_handler_takes_over_once_work_has_stopped(own, capsys):
    with pytest.raises(SystemExit) as stopped:
        with Termination() as termination:
            assert not termination.requested
            signal.raise_signal(SIGTERM)
            assert termination.requested and not own
            termination.obey("Stopped.")
    assert stopped.value.code == 143 and own == [True]
    assert capsys.readouterr().err == "\nStopped.\n"


def test_a_second_one_acts_at_once(own):
    with Termination():
        signal.raise_signal(SIGTERM)
        assert not own
        signal.raise_signal(SIGTERM)
        assert own == [True]
        signal.raise_signal(SIGTERM)
    assert own == [True] * 3


def test_one_that_comes_too_late_to_be_obeyed_is_not_lost(own):
    with Termination():
        signal.raise_signal(SIGTERM)
    assert own == [True]


def test_what_is_ignored_stays_ignored():
    signal.signal(SIGTERM, signal.SIG_IGN)
    with Termination() as termination:
        signal.raise_signal(SIGTERM)
        assert not termination.requested
    assert signal.getsignal(SIGTERM) == signal.SIG_IGN


def test_other_threads_hear_of_none():
    found = []

    def work():
        with Termination() as termination:
            found.append(termination.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]


def test_without_a_handler_the_process_ends_as_by_the_signal():
    code = (
        "import importlib.util as u, signal, sys; "
        "s = u.spec_from_file_location('t', sys.argv[1]); "
        "m = u.module_from_spec(s); s.loader.exec_module(m); "
        "t = m.Termination(); t.__enter__(); "
        "signal.raise_signal(15); print('noted', flush=True); "
        "t.__exit__(None, None, None); print('not reached')"
    )
    path = sys.modules[Termination.__module__].__file__
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True
    )
    assert done.returncode == -SIGTERM and done.stdout == "noted\n"
