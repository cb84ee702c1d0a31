"""One command in several processes, and in one after the other."""

import os
import signal
import subprocess
import sys

#: Numbers of threads that a process reads before it computes.
_THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
_PROGRAM = (sys.executable, "-m", "reproduce")


def run_processes(
    arguments: list[str], count: int, program: tuple = _PROGRAM
) -> int:
    """Runs a command as several processes, and waits for all.

    Each takes the points that no other has claimed, see `reproduce.sweep`, and
    has its share of the cores, unless the environment says how many threads.
    SIGTERM is handed on, as a terminal hands on Ctrl-C.

    Args:
        arguments: List of strings, of the command.
        program: Tuple of strings that comes before them. Defaults to
            `python -m reproduce`.

    Returns:
        Integer, the greatest exit status.
    """
    share = str(max((os.cpu_count() or 1) // count, 1))
    environment = {**dict.fromkeys(_THREADS, share), **os.environ}
    running = [
        subprocess.Popen([*program, *arguments], env=environment)
        for _ in range(count)
    ]

    def hand_on(number, frame):
        for process in running:
            process.send_signal(number)

    before = signal.signal(signal.SIGTERM, hand_on)
    try:
        return max(map(_status, running))
    finally:
        signal.signal(signal.SIGTERM, before)


def renew_process(*more: str):
    """Runs the command of this process anew, in its place.

    What the process holds in memory is given back; its number, and who waits
    for it, stay.

    Args:
        more: Strings, arguments to add.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], *more])


def _status(process):
    """The exit status of a process, when it has ended."""
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            # It has been stopped, too, and keeps what it has done.
            continue
        return code if code >= 0 else 128 - code
