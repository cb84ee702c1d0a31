import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from tfcap.cluster.guard import release
from tfcap.cluster.guard import start_guarded


def started(*command, **options):
    options = {"stdout": subprocess.PIPE, "text": True, **options}
    return start_guarded(list(command), **options)


@pytest.mark.parametrize("status", [0, 3, -signal.SIGKILL, -signal.SIGTERM])
def test_a_process_ends_as_it_would_by_itself(status):
    how = f"exit {status}" if status >= 0 else f"kill {status} $$"
    process, line = started("sh", "-c", f"echo here; {how}")
    assert process.communicate(timeout=60)[0] == "here\n"
    assert process.returncode == status
    release(line)


def test_a_process_is_what_it_would_be_by_itself():
    """Leader of its group, with signals as they were and no files of ours."""
    source = """if True:
        import os
        print(os.getpid() == os.getpgid(0) == os.getsid(0))
        print(*sorted(os.listdir("/proc/self/fd"))[:4])
        status = open("/proc/self/status").read()
        print(status.partition("SigIgn:")[2].split()[0])
        try:
            os.wait()
        except ChildProcessError:
            print("no children")
    """
    command = [sys.executable, "-I", "-S", "-c", source]
    process, line = started(*command)
    found = process.communicate(timeout=60)[0]
    release(line)
    plain = subprocess.run(
        command, capture_output=True, text=True, start_new_session=True
    )
    assert found == plain.stdout and found.endswith("no children\n")


def test_output_ends_with_the_process_and_its_guard_goes():
    process, line = started("sh", "-c", "echo $$")
    group = int(process.communicate(timeout=60)[0])
    assert len(running(group)) == 1
    release(line)
    limit = time.monotonic() + 60
    while running(group):
        assert time.monotonic() < limit, "the guard is still there"
        time.sleep(0.01)


def running(group):
    """Ids of a group's processes, without those that only wait to be reaped."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # What follows the name: state, parent, group.
            state, _, number = path.read_text().rpartition(")")[2].split()[:3]
            if number == str(group) and state != "Z":
                found.append(path.parent.name)
    return found


def test_the_end_of_the_line_ends_all_of_a_group():
    source = "sleep 600 & trap '' TERM; echo here; wait; sleep 600"
    process, line = started("sh", "-c", source)
    assert process.stdout.readline() == "here\n"
    os.close(line)
    # The child held it open, too.
    assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == -signal.SIGKILL


def test_a_guard_that_is_gone_is_no_error():
    process, line = started("sh", "-c", "kill -9 -$$")
    process.communicate(timeout=60)
    release(line)
