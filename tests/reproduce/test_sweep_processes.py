"""Sweeps that real processes share, leave, and are killed in."""

import pathlib
import signal
import subprocess
import sys
import time

from reproduce.sweep import Sweep
from reproduce.sweep import load_records
from tests.reproduce.sweep_process import GRID

SCRIPT = pathlib.Path(__file__).parent / "sweep_process.py"


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


def test_processes_divide_the_points_and_do_each_once(tmp_path):
    _, codes = end(start(tmp_path, "share", count=3))
    assert codes == [0, 0, 0]
    assert [len(pids) for pids in runs(tmp_path)] == [1] * 12
    records = load_records(tmp_path)
    assert len(records) == 12
    assert len({record["pid"] for record in records}) >= 2


def test_the_others_wait_and_take_over_what_a_killed_one_had(tmp_path):
    (victim,) = start(tmp_path, "hang")
    wait_for(lambda: list((tmp_path / "points").glob("*/begun")))
    (helper,) = start(tmp_path, "share")
    wait_for(lambda: len(runs(tmp_path)) == 11)
    time.sleep(0.2)
    assert helper.poll() is None
    victim.kill()
    victim.communicate()
    (output,), codes = end([helper])
    assert codes == [0] and "Waiting for 1 points" in output
    assert [len(pids) for pids in runs(tmp_path)] == [1] * 12
    assert len(load_records(tmp_path)) == 12


def test_ctrl_c_is_no_failure(tmp_path):
    (process,) = start(tmp_path, "hang")
    wait_for(lambda: list((tmp_path / "points").glob("*/begun")))
    process.send_signal(signal.SIGINT)
    (output,), codes = end([process])
    assert "KeyboardInterrupt" in output and codes[0] != 0
    assert not list((tmp_path / "points").glob("*/failure.json"))


def test_failures_of_one_process_are_not_tried_by_the_other(tmp_path):
    outputs, codes = end(start(tmp_path, "fail", count=2))
    assert codes == [1, 1]
    sweep = Sweep(tmp_path, None, GRID)
    assert len(sweep.records()) == 6
    assert len(sweep.failures()) == 6
    for output in outputs:
        assert "6 failed" in output
        assert output.count("RuntimeError: no more memory") >= 6


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
    assert work(most=3, begun=0) is None and len(asked) == 3
    assert work(most=3, begun=0) == 1
    assert asked == ["psst", "psst", "st", "st"]
    broken.clear()
    # What is wanted last ends it as usual.
    assert work(most=2) == 0 and len(load_records(tmp_path)) == 4
