"""Limits on what a file may cost, since it may come from a stranger.

Each has a default that published data sets stay far below, and an environment
variable that raises it.
"""

import errno
import io
import os
import select
import stat
from os import PathLike
from typing import BinaryIO

#: Defaults of the limits, by the environment variables that replace them.
LIMITS = {
    # Bytes of a file that is read whole, unpacked: VisDial v1.0 has a tenth.
    "TFCAP_MAX_BYTES": 4 << 30,
    # Words of a caption that is scored: paragraphs have some hundreds.
    "TFCAP_MAX_WORDS": 1000,
    # Pixels of an image: as Pillow, which warns beyond them.
    "TFCAP_MAX_IMAGE_PIXELS": 89_478_485,
    # Pixels of all frames of a video up to the last one that is taken.
    "TFCAP_MAX_VIDEO_PIXELS": 4 << 30,
    # Seconds that a pipe may be silent.
    "TFCAP_MAX_WAIT": 60,
    # Seconds that errors of a disk that may pass are waited out.
    "TFCAP_DISK_WAIT": 120,
}
#: Bytes that may come of any few, and how many of one byte beyond these.
_SMALL, _RATIO = 64 << 20, 100
#: Bytes of a device: more than a person types.
_DEVICE_LIMIT = 16 << 20
_BLOCK = 1 << 20


def limit(name: str) -> int:
    """A limit, as the environment or its default sets it.

    Raises:
        ValueError: If the environment holds something else than a positive
            integer.

    Example:

    >>> from tfcap._io.file_limits import limit
    >>> limit("TFCAP_MAX_WORDS")
    1000
    """
    text = os.environ.get(name, "")
    if not text:
        return LIMITS[name]
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 19):
        raise ValueError(
            f"`{name}` must be a positive integer. Received: {text!r:.40}. "
            f"Unset it for the default, {LIMITS[name]:,}."
        )
    return int(text)


def raise_limit(name: str) -> str:
    """The sentence that says how a limit is raised."""
    return f"Where that is right, raise the limit: set {name} to more."


def check_unpacked(packed: int, unpacked: int):
    """Refuses data that would fill the memory when unpacked or padded.

    Raises:
        ValueError: If there are more than `TFCAP_MAX_BYTES`, or, where nobody
            has set it, more than a hundred times as many as `packed` and more
            than 64 MiB. The message is a clause.
    """
    most, name = limit("TFCAP_MAX_BYTES"), "TFCAP_MAX_BYTES"
    if name not in os.environ:
        most = min(most, max(_SMALL, _RATIO * packed))
    if unpacked > max(packed, most):
        raise ValueError(f"{packed:,} bytes unpack to more than {most:,}")


def check_regular(path: str | PathLike) -> None:
    """Refuses what is no regular file, where one must be.

    Args:
        path: String or path.

    Raises:
        ValueError: If a pipe, a socket or a device is there. The message is a
            clause.
        OSError: If nothing is there.

    Example:

    >>> import os
    >>> tfcap._io.check_regular(os.devnull)
    Traceback (most recent call last):
    ValueError: it is a pipe or a device, which has no end
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ValueError("it is a pipe or a device, which has no end")


def check_dense(file: BinaryIO, size: int | None = None) -> None:
    """Refuses a file most of which takes no room on the disk.

    A few bytes of such a file stand for as many zeros as one likes.

    Args:
        file: Open file.
        size: Integer, how much of it will be read. Defaults to all of it.

    Raises:
        ValueError: If a hundred times more than is on the disk will be read,
            and more than 64 MiB. The message is a clause.

    Example:

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a").write_bytes(b"a dog")
    >>> with open(folder / "a", "rb") as file:
    ...     tfcap._io.check_dense(file)
    """
    status = os.fstat(file.fileno())
    size = status.st_size if size is None else size
    # Some disks do not tell.
    room = 512 * getattr(status, "st_blocks", 0)
    told = room or _is_hole(file)
    if told and size > max(_SMALL, _RATIO * room):
        raise ValueError(
            f"it is mostly holes: {size:,} bytes to be read, of which {room:,} "
            "are on the disk"
        )


def _is_hole(file):
    """Check whether a file is known to have nothing on the disk."""
    if not hasattr(os, "SEEK_DATA"):
        return False
    try:
        os.lseek(file.fileno(), 0, os.SEEK_DATA)
    except OSError as error:
        return error.errno == errno.ENXIO
    finally:
        os.lseek(file.fileno(), 0, os.SEEK_SET)
    return False


def open_to_read(path: str | PathLike):
    """Opens a file; a pipe without waiting for its writer."""
    # Whoever opens a pipe that nobody writes to waits for ever.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

    def opener(name, _):
        return os.open(name, flags)

    file = open(path, "rb", buffering=0, opener=opener)
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        return open(path, "rb")
    return file


def read_stream(file, refuse):
    """Reads a pipe or a device to its end, which may never come.

    Args:
        refuse: Function of a clause, what is wrong, and of a sentence, what
            to do, that returns the error to raise.

    Raises:
        ValueError: If a pipe gives more than `TFCAP_MAX_BYTES` or is silent
            for `TFCAP_MAX_WAIT` seconds, or if a device gives more than 16
            MiB.
    """
    pipe = stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)
    most = limit("TFCAP_MAX_BYTES") if pipe else _DEVICE_LIMIT
    content = io.BytesIO()
    while part := _next_part(file, pipe, refuse):
        if content.tell() + len(part) > most:
            problem = f"a pipe or device gives more than {most:,} bytes"
            hint = "Write them to a file, and name that."
            if pipe:
                hint += f" {raise_limit('TFCAP_MAX_BYTES')}"
            raise refuse(problem, hint)
        content.write(part)
    content.seek(0)
    return content


def _next_part(file, pipe, refuse):
    """The next bytes of a stream; none at its end."""
    # A terminal has no limit: a person takes as long as they like.
    patience = limit("TFCAP_MAX_WAIT") if pipe else None
    while True:
        part = file.read(_BLOCK) if _ready(file, patience) else None
        if part is not None:
            return part
        if pipe:
            raise refuse(
                f"nobody writes to the pipe for {patience} seconds",
                "See that its writer runs, or name a file. "
                + raise_limit("TFCAP_MAX_WAIT"),
            )


def _ready(file, seconds):
    """Wait until there is something to read; False if there is nothing."""
    watch = select.poll()
    watch.register(file, select.POLLIN | select.POLLHUP)
    return bool(watch.poll(None if seconds is None else 1000 * seconds))
