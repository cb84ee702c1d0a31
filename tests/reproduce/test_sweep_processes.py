"""Sweeps that real processes share, leave, and are killed in."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from reproduce.sweep import Sweep
from reproduce.sweep_records import load_records

SCRIPT = pathlib.Path(__file__).parent / "sweep_process.py"
ROOT = pathlib.Path(__file__).parents[2]
GRID = {"method": ["psst", "st"], "lambda": [1e-3, 3e-3, 5e-3], "seed": [0, 1]}


def start(folder, how, count=1):
    """Processes that begin at the same moment."""
    processes = [
        subprocess.Popen(
            [sys.executable, SCRIPT, folder, how],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(count)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    (folder / "start").touch()
    return processes


def end(processes):
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    return outputs, [process.returncode for process in processes]


def wait_for(condition):
    limit = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.01)


def runs(folder):
    """Which processes ran each point, a list for each."""
    paths = sorted((folder / "points").glob("*/runs"))
    return [path.read_text().split() for path in paths]


def claims(folder):
    return list((folder / "claims").iterdir())


def test_processes_divide_the_points_and_do_each_once(tmp_path):
    _, codes = end(start(tmp_path, "share", count=3))
    assert codes == [0, 0, 0]
    assert [len(pids) for pids in runs(tmp_path)] == [1] * 12
    records = load_records(tmp_path)
    assert len(records) == 12
    assert len({record["pid"] for record in records}) >= 2
    lines = (tmp_path / "points.jsonl").read_text().splitlines()
    assert len(lines) == 12 and all(map(json.loads, lines))
    assert not claims(tmp_path)


def test_a_killed_process_loses_no_more_than_its_point(tmp_path):
    (process,) = start(tmp_path, "hang")
    wait_for(lambda: list((tmp_path / "points").glob("*/begun")))
    process.kill()
    process.communicate()
    assert len(claims(tmp_path)) == 1
    begun = time.monotonic()
    sweep = Sweep(
        tmp_path, lambda settings, folder: {"r@1": 1.0}, GRID, patience=600.0
    )
    assert sweep.work() == 0
    # At once, and not after its patience: the process is known to be dead.
    assert time.monotonic() - begun < 60
    assert len(sweep.records()) == 12 and not claims(tmp_path)


def test_the_others_wait_and_take_over_what_a_killed_one_had(tmp_path):
    (victim,) = start(tmp_path, "hang")
    wait_for(lambda: list((tmp_path / "points").glob("*/begun")))
    (helper,) = start(tmp_path, "share")
    wait_for(lambda: len(runs(tmp_path)) == 11)
    time.sleep(0.2)
    assert helper.poll() is None and len(claims(tmp_path)) == 1
    victim.kill()
    victim.communicate()
    (output,), codes = end([helper])
    assert codes == [0] and "Waiting for 1 points" in output
    assert [len(pids) for pids in runs(tmp_path)] == [1] * 12


def test_ctrl_c_gives_the_claim_back(tmp_path):
    (process,) = start(tmp_path, "hang")
    wait_for(lambda: list((tmp_path / "points").glob("*/begun")))
    process.send_signal(signal.SIGINT)
    (output,), codes = end([process])
    assert "KeyboardInterrupt" in output and codes[0] != 0
    assert not claims(tmp_path)
    assert not (tmp_path / "failures.jsonl").exists()


def test_failures_of_one_process_are_not_tried_by_the_other(tmp_path):
    outputs, codes = end(start(tmp_path, "fail", count=2))
    assert codes == [1, 1]
    sweep = Sweep(tmp_path, None, GRID)
    assert len(sweep.records()) == 6
    failed = [str(x["settings"]) for x in sweep.failures()]
    assert len(set(failed)) == 6
    # What failed before the slower one had looked is tried again.
    assert len(failed) < 12
    for output in outputs:
        assert "6 failed" in output
        assert output.count("RuntimeError: no more memory") >= 6


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no SIGSTOP")
def test_a_process_that_slept_for_too_long_does_not_count_twice(tmp_path):
    (sleeper,) = start(tmp_path, "slow")
    wait_for(lambda: list((tmp_path / "points").glob("*/begun")))
    sleeper.send_signal(signal.SIGSTOP)
    try:
        sweep = Sweep(
            tmp_path,
            lambda settings, folder: {"pid": os.getpid()},
            GRID,
            heartbeat=0.1,
            patience=0.5,
        )
        assert sweep.work() == 0
    finally:
        sleeper.send_signal(signal.SIGCONT)
    (output,), codes = end([sleeper])
    # It came to the end of its one point, which was done by then.
    assert codes == [0]
    assert "[1/12] was done by another process meanwhile" in output
    assert len(list((tmp_path / "points").glob("*/begun"))) == 1
    lines = (tmp_path / "points.jsonl").read_text().splitlines()
    assert len(lines) == 12
    assert {r["pid"] for r in load_records(tmp_path)} == {os.getpid()}


def test_work_ends_after_as_many_points_as_asked_and_goes_on(tmp_path):
    asked, broken = [], {"psst"}

    def run(settings, folder):
        asked.append(settings["method"])
        if settings["method"] in broken:
            raise RuntimeError("no more memory")
        return {"cider_d": 1.0}

    grid = {**GRID, "lambda": [1e-3, 3e-3], "seed": 0}

    def work(**options):
        return Sweep(tmp_path, run, grid, verbose=0).work(**options)

    # Each is a process of its own: what failed is not tried by the next.
    assert work(most=3, earlier=0) is None and len(asked) == 3
    assert work(most=3, earlier=0) == 1
    assert asked == ["psst", "psst", "st", "st"]
    broken.clear()
    # What is wanted last ends it as usual.
    assert work(most=2) == 0 and len(load_records(tmp_path)) == 4


def test_a_process_begins_anew_in_its_place():
    code = (
        "import os, sys; from reproduce.processes import renew_process;"
        "print(os.getpid(), *sys.argv[1:]);"
        "len(sys.argv) > 2 or renew_process('--earlier', '2')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "psst"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    said = process.communicate(timeout=60)[0].splitlines()
    assert process.returncode == 0
    assert said == [f"{process.pid} psst", f"{process.pid} psst --earlier 2"]
