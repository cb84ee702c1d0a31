"""Processes whose operations on files are counted, disturbed and recorded.

`file_operations.c` is compiled and preloaded, so that Python's, HDF5's and
every other library's calls of the C library are seen; writes of C's own
streams (`fopen()`), as of TensorFlow's event files, are not. Linux with a C
compiler only.
"""

import ctypes
import dataclasses
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import traceback

SOURCE = pathlib.Path(__file__).with_suffix(".c")
#: Kinds of operations, bits of a mask; as in the source.
KINDS = {
    name: 1 << bit
    for bit, name in enumerate(
        (
            *("open", "write", "sync", "rename", "unlink", "mkdir"),
            *("truncate", "read", "stat", "rmdir", "mark"),
            *("close", "list", "chmod", "link"),
        )
    )
}
NAMES = {bit: name for name, bit in KINDS.items()}
#: What changes a disk.
CHANGES = KINDS["rmdir"] | KINDS["link"] | sum(1 << bit for bit in range(7))
ALL = sum(KINDS.values())
ACTIONS = ("nothing", "kill", "torn", "terminate", "fail", "short", "after")
#: Bytes that a disturbed process may take beyond what it has when forked.
MEMORY = 3 << 30
SECONDS = 60


def preloaded():
    """Begins the program anew with the library, unless it has it."""
    if hasattr(ctypes.CDLL(None), "faults_arm"):
        os.environ.pop("LD_PRELOAD", None)
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tfcap_faults_"))
    library = compiled(folder)
    os.environ["LD_PRELOAD"] = str(library)
    # The linker has no threads to wait for; what runs keeps its descriptor.
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def compiled(folder):
    """Path of the library, made in a folder; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    library = pathlib.Path(folder) / "file_operations.so"
    order = [compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE]
    subprocess.run([*order, "-ldl", "-lpthread"], check=True)
    return library


@dataclasses.dataclass(frozen=True)
class Disturbance:
    """What happens at which operations.

    Args:
        action: String, of `ACTIONS`.
        first: Integer, the operation of the mask's that it begins with, from
            1.
        times: Integer, how many operations it happens to.
        mask: Integer, kinds that are counted.
        code: Integer, `errno` of those that fail.
    """

    action: str = "nothing"
    first: int = 0
    times: int = 1
    mask: int = ALL
    code: int = 0

    def arm(self, folder, record=-1):
        last = self.first + self.times - 1
        numbers = map(ctypes.c_long, (self.first, last))
        ctypes.CDLL(None).faults_arm(
            os.fsencode(folder),
            self.mask,
            ACTIONS.index(self.action),
            *numbers,
            self.code,
            record,
        )


def mark(number):
    """Notes in the record that a piece of work was reported as done."""
    note = getattr(ctypes.CDLL(None), "faults_mark", None)
    if note:
        note(ctypes.c_long(number))


@dataclasses.dataclass
class Outcome:
    """How a process has ended.

    Args:
        status: String: `"done"`, `"error"`, `"exit 2"`, `"signal 9"`.
        count: Integer, operations counted, where it could still tell.
        error: String, class of the exception.
        text: String, its message.
        code: Integer, its `errno`; None for none.
        trace: String, its traceback.
        said: String, what it printed.
        value: What the work returned, through JSON.
    """

    status: str
    count: int = 0
    error: str = ""
    text: str = ""
    code: int | None = None
    trace: str = ""
    said: str = ""
    value: object = None


def attempt(
    work, folder, disturbance=None, record=None, seconds=SECONDS, memory=MEMORY
):
    """Does some work in a process of its own.

    Args:
        work: Function of the folder.
        folder: `pathlib.Path`, whose operations are counted.
        disturbance: `Disturbance`, or None.
        record: Path of a file for all operations, or None.
        seconds: Integer, that it may work; it may take five times as long.
        memory: Integer, bytes that it may take more than this process has.

    Returns:
        `Outcome`.
    """
    with tempfile.TemporaryDirectory(prefix="tfcap_outcome_") as kept:
        told, log = (os.path.join(kept, name) for name in ("told", "log"))
        process = os.fork()
        if not process:
            try:
                _limit(seconds, memory)
                _redirect(log)
                _do(work, folder, disturbance, record, told)
            finally:
                os._exit(70)
        _, status = os.waitpid(process, 0)
        code = os.waitstatus_to_exitcode(status)
        said = pathlib.Path(log).read_text(errors="replace")[-4000:]
        try:
            found = json.loads(pathlib.Path(told).read_text())
        except (OSError, ValueError):
            name = f"signal {-code}" if code < 0 else f"exit {code}"
            return Outcome(name, said=said)
        if code < 0:
            found["status"] = f"signal {-code}"
        return Outcome(**found, said=said)


def _limit(seconds, memory):
    os.setpgid(0, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # On a busy machine work takes its time; what waits for ever does none.
    signal.alarm(5 * seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _redirect(log):
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(file, stream)


def _do(work, folder, disturbance, record, told):
    lib, outcome = ctypes.CDLL(None), {"status": "done"}
    lib.faults_count.restype = ctypes.c_long
    file = -1
    if record is not None:
        file = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        (disturbance or Disturbance()).arm(folder, file)
        outcome["value"] = work(folder)
    except SystemExit as error:
        outcome["status"] = f"exit {error.code}"
    except BaseException as error:
        outcome |= {
            "status": "error",
            "error": type(error).__name__,
            "text": str(error)[:3000],
            "code": getattr(error, "errno", None),
            "trace": "".join(traceback.format_exception(error))[-6000:],
        }
    finally:
        outcome["count"] = lib.faults_count()
        Disturbance().arm("")
    pathlib.Path(told).write_text(json.dumps(outcome))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def read_record(path):
    """Operations that `attempt()` has recorded, in their order.

    Yields:
        Tuple of the kind's name, a number (an offset, a size, a mark), the
        path, another path, and bytes written.
    """
    with open(path, "rb") as file:
        while head := file.read(40):
            kind, number, *sizes = struct.unpack("5q", head)
            one, other, data = (file.read(size) for size in sizes)
            names = os.fsdecode(one), os.fsdecode(other)
            yield NAMES[kind], number, *names, data
