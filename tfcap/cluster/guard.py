"""Processes that do not outlive the one that has started them.

A launcher that is killed cannot end its workers. So each has a guard, a
process of its group that reads from a pipe whose other end the launcher holds:
when that ends without a word, the guard kills the group. On Linux the system
also kills the worker itself, should the guard be gone, too. This file is what
the worker's process runs before it becomes the worker, with the modules of
Python alone.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys

_PR_SET_PDEATHSIG = 1
_DONE = b"."


def start_guarded(command: list[str], namespace=None, **options):
    """Starts a program that ends with this process, however that ends.

    Returns:
        Tuple of `subprocess.Popen`, whose process leads a session and group
        of its own, and of an integer for `release()`.

    Example:

    >>> from tfcap.cluster.guard import release, start_guarded
    >>> process, line = start_guarded(["true"])
    >>> process.wait()
    0
    >>> release(line)
    """
    descriptors = namespace.descriptors if namespace else ()
    read, write = os.pipe()
    passed = [read, *descriptors]
    runner = [sys.executable, "-I", "-S", __file__]
    try:
        process = subprocess.Popen(
            [*runner, ",".join(map(str, passed)), *command],
            pass_fds=passed,
            start_new_session=True,
            **options,
        )
    except BaseException:
        os.close(write)
        raise
    finally:
        os.close(read)
    return process, write


def release(line: int):
    """Sends the guard of a process that has ended away."""
    with contextlib.suppress(BrokenPipeError):
        os.write(line, _DONE)
    os.close(line)


def _main(passed, command):
    """Becomes the command, in the namespaces and once its guard is there."""
    line, *namespaces = map(int, passed.split(","))
    try:
        for descriptor in namespaces:
            _call("setns", descriptor, 0)
            os.close(descriptor)
        _start_guard(line)
        os.close(line)
        if sys.platform.startswith("linux"):
            # After the namespaces: a change of rights would undo it.
            _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL)
        # Python ignores these, and what is executed would inherit it.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        text = f"{error.filename or command[0]}: {error.strerror}"
        print(f"error: {text}", file=sys.stderr)
        return 2


def _call(name, *arguments):
    """Calls a function of the C library, of integers."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _start_guard(line):
    """Starts the guard, which is no child: a worker may wait for all of its."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    elif os.fork():
        os._exit(0)
    else:
        try:
            _guard(line)
        finally:
            os._exit(0)


def _guard(line):
    """Waits for the launcher's word or its end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Whoever reads what the worker prints waits until all have closed it.
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    if os.read(line, 1) != _DONE:
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    # Ctrl-C while it starts is no traceback; where it is ignored, as of a
    # command in the background, it stays so.
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_main(sys.argv[1], sys.argv[2:]))
