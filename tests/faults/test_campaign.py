"""The script that draws trials finds what it should, and is kept alive."""

import errno
import json
import os
import pathlib
import random
import subprocess
import sys
import textwrap

import pytest

from tests.faults import file_operations
from tests.faults.disk_model import Disk

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    found = file_operations.compiled(tmp_path_factory.mktemp("library"))
    return found or pytest.skip("needs Linux and a C compiler")


def outcomes(library, folder, work, *disturbances):
    """How some Python ends that is disturbed in one way or another."""
    script = f"""
    import json, os, pathlib, sys
    from tests.faults.file_operations import Disturbance, attempt, read_record

    def work(folder):
        {work}

    folder = pathlib.Path(sys.argv[1])
    for disturbance in {disturbances!r}:
        found = attempt(
            work, folder, Disturbance(**disturbance), folder.parent / "record"
        )
        print(found.status, found.count, found.code, found.value)
    for step in read_record(folder.parent / "record"):
        print(step)
    """
    (folder / "root").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), folder / "root"],
        env={
            **os.environ,
            "LD_PRELOAD": str(library),
            "PYTHONPATH": str(HERE.parents[1]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_operations_are_counted_disturbed_and_recorded(library, tmp_path):
    work = "(folder / 'a').write_text('word'); return (folder/'a').exists()"
    found = outcomes(
        library,
        tmp_path,
        work,
        {"action": "kill", "first": 2},
        {"action": "terminate", "first": 1},
        {"action": "fail", "first": 1, "code": errno.EROFS},
        {"action": "fail", "first": 1, "mask": 2, "code": errno.ENOSPC},
        {"action": "short", "first": 1, "times": 9},
        {"action": "torn", "first": 1, "mask": 2},
        {},
    )
    root = tmp_path / "root"
    assert found == [
        "signal 9 0 None None",
        "signal 15 0 None None",
        f"error 1 {errno.EROFS} None",
        # It tries once more when it closes the file.
        f"error 2 {errno.ENOSPC} None",
        # 2 bytes, and 1, and 1.
        "done 6 None True",
        "signal 9 0 None None",
        "done 4 None True",
        str(("open", 1, str(root / "a"), "", b"")),
        str(("write", 0, str(root / "a"), "", b"word")),
    ]


def left(steps, times=200):
    """What a failure of the power may leave of `a`."""
    disk, rng = Disk("/disk"), random.Random(0)
    for step in steps:
        disk.do(*step)
    return {disk.state(rng).get("a") for _ in range(times)}


def test_what_is_not_synced_may_be_lost_or_torn():
    made = [
        ("open", 1, "/disk/b", "", b""),
        ("write", 0, "/disk/b", "", b"ab"),
        ("write", 2, "/disk/b", "", b"cd"),
    ]
    synced, renamed = (
        ("sync", 0, "/disk/b", "", b""),
        ("rename", 0, "/disk/b", "/disk/a", b""),
    )
    kept = ("sync", 0, "/disk", "", b"")
    torn = {None, b"", b"a", b"ab", b"abc", b"abcd", b"\0\0cd", b"ab\0\0"}
    assert torn <= left([*made, renamed]) <= torn | {b"\0" * 4}
    assert left([*made, synced, renamed]) == {None, b"abcd"}
    assert left([*made, synced, renamed, kept]) == {b"abcd"}
    assert None not in left([*made, renamed, kept])


def test_some_trials_of_each_kind_find_nothing(library, tmp_path):
    order = [sys.executable, HERE / "campaign.py", "--out", tmp_path]
    order += ["--trials", "12", "--runs", "files,records,features"]
    done = subprocess.run(
        [*order, "--seed", "0"],
        env={
            **os.environ,
            "LD_PRELOAD": str(library),
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    lines = (tmp_path / "trials.jsonl").read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert sorted(kinds) == sorted(2 * [*set(kinds)]) and len(kinds) == 12
    assert " 0\n" in done.stdout + "\n"
