import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import types

import pytest

from reproduce.claims import Claims
from reproduce.claims import made_once


@pytest.fixture
def clock(monkeypatch):
    """The watch of those who look at claims: it moves when it is told to."""
    clock = types.SimpleNamespace(now=0.0)
    watch = types.SimpleNamespace(monotonic=lambda: clock.now)
    monkeypatch.setattr("reproduce.claims.time", watch)
    return clock


def claims(folder, patience=60.0):
    return Claims(folder, heartbeat=0.02, patience=patience)


def elsewhere(path, **changes):
    """A claim of a process on another machine."""
    about = {"pid": 1, "host": "elsewhere", "token": "t", **changes}
    pathlib.Path(path).write_text(json.dumps(about))


def ended_process():
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_claim_is_one_process_and_one_piece_of_work(tmp_path):
    claim = claims(tmp_path).take("a")
    assert claims(tmp_path).take("a") is None
    assert claims(tmp_path).take("b") is not None
    with claim:
        assert claims(tmp_path).take("a") is None
    assert claims(tmp_path).take("a") is not None


def test_an_error_gives_the_claim_back(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        with claims(tmp_path).take("a"):
            raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
    assert claims(tmp_path).take("a") is not None


def test_a_claim_is_kept_alive_while_its_block_runs(tmp_path, clock):
    others = claims(tmp_path)
    with claims(tmp_path).take("a"):
        for _ in range(4):
            assert others.take("a") is None
            before = os.stat(tmp_path / "a").st_mtime_ns
            limit = time.monotonic() + 30
            while os.stat(tmp_path / "a").st_mtime_ns == before:
                assert time.monotonic() < limit, "no sign of life"
                time.sleep(0.01)
            clock.now += 50.0
        assert others.take("a") is None


def test_a_silent_claim_is_taken_over_after_the_patience(tmp_path, clock):
    elsewhere(tmp_path / "a")
    # By its own clock it is years old: only what is seen to change counts.
    os.utime(tmp_path / "a", (1.0, 1.0))
    ours = claims(tmp_path)
    assert ours.take("a") is None
    clock.now = 59.0
    assert ours.take("a") is None
    clock.now = 61.0
    claim = ours.take("a")
    assert claim is not None and claims(tmp_path).take("a") is None
    with claim:
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", '{"pid": 1, "ho', "[1]"])
def test_a_claim_that_names_nobody_waits_for_one_beat(content, tmp_path, clock):
    others = claims(tmp_path)
    # Its process died while it wrote.
    (tmp_path / "a").write_text(content)
    assert others.take("a") is None
    clock.now = 0.01
    assert others.take("a") is None
    clock.now = 0.03
    assert others.take("a") is not None


def test_a_touch_or_another_owner_starts_the_patience_anew(tmp_path, clock):
    ours = claims(tmp_path)
    for touched, token in ((1.0, "t"), (2.0, "t"), (2.0, "u")):
        elsewhere(tmp_path / "a", token=token)
        os.utime(tmp_path / "a", (touched, touched))
        assert ours.take("a") is None
        clock.now += 50.0
        assert ours.take("a") is None
    clock.now += 20.0
    assert ours.take("a") is not None


def test_a_process_of_this_machine_that_is_gone_is_not_waited_for(tmp_path):
    claim = claims(tmp_path).take("a")
    host = json.loads((tmp_path / "a").read_text())["host"]
    elsewhere(tmp_path / "a", host=host, pid=ended_process())
    assert claims(tmp_path).take("a") is not None
    # Who has lost a claim does not remove what is another's.
    with claim:
        pass
    assert (tmp_path / "a").exists()


def test_the_number_of_a_process_means_nothing_elsewhere(tmp_path):
    elsewhere(tmp_path / "a", pid=ended_process())
    assert claims(tmp_path).take("a") is None


def test_one_of_many_takes_over_an_abandoned_claim(tmp_path, clock):
    for _ in range(20):
        elsewhere(tmp_path / "a")
        watchers = [claims(tmp_path) for _ in range(8)]
        assert [w.take("a") for w in watchers] == [None] * 8
        clock.now += 61.0
        barrier, taken = threading.Barrier(8), []

        def take(watcher, barrier=barrier, taken=taken):
            barrier.wait()
            taken.append(watcher.take("a"))

        threads = [threading.Thread(target=take, args=(w,)) for w in watchers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len([claim for claim in taken if claim is not None]) == 1
        (tmp_path / "a").unlink()


def test_one_process_at_a_time_looks_whether_a_claim_is_abandoned(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    ours, taken = claims(tmp_path / "claims"), []
    thread = threading.Thread(target=lambda: taken.append(ours.take("a")))
    with open(tmp_path / "claims.lock", "a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        thread.start()
        thread.join(0.3)
        assert thread.is_alive() and not taken
    thread.join()
    assert len(taken) == 1 and taken[0] is not None


def test_one_of_many_makes_a_file_and_the_others_read_it(tmp_path):
    path, made, found = tmp_path / "a", [], []

    def make():
        made.append(1)
        time.sleep(0.2)
        (tmp_path / "part").write_text("whole")
        (tmp_path / "part").replace(path)
        return "whole"

    def ask():
        found.append(made_once(path, pathlib.Path.read_text, make))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1] and found == ["whole"] * 4
    assert not list((tmp_path / "claims").iterdir())


@pytest.mark.parametrize("heartbeat, patience", [(10.0, 19.0), (0.0, 1.0)])
def test_a_patience_of_less_than_two_beats_is_refused(
    tmp_path, heartbeat, patience
):
    with pytest.raises(ValueError, match="at least twice `heartbeat`"):
        Claims(tmp_path, heartbeat, patience)
