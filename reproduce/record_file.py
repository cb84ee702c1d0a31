"""Files of records that several processes add to, a line each."""

import errno
import json
import os
import time
import warnings

from tfcap._io import sealed
from tfcap._io import sync_folder
from tfcap._io import told_if_full
from tfcap._io import unsealed

_KEPT = "The records in it are as they were"


def append_record(path, record):
    """Adds a record to a file of JSON lines, whole or not at all.

    The line is written by one call to the end of the file, where processes do
    not overwrite each other, and is on the disk on return. It holds a
    checksum, see `tfcap._io.json_file`.

    Args:
        path: String or path; the file is made if absent.
        record: Dict that JSON can hold.

    Raises:
        OSError: If the line could not be written whole, as on a full disk.
        TypeError, ValueError: If JSON cannot hold the record; then nothing is
            written.
    """
    line = json.dumps(sealed(record), allow_nan=False).encode() + b"\n"
    there = os.path.exists(path)
    _append(path, line)
    if not there:
        sync_folder(os.path.dirname(os.path.abspath(path)))


def _append(path, line):
    """Adds a line to the end of a file by one call."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    with told_if_full(path, _KEPT):
        file = os.open(path, flags, 0o666)
        try:
            # A writer that died may have left half a line; ours must not join
            # it.
            if os.lseek(file, 0, os.SEEK_END):
                os.lseek(file, -1, os.SEEK_END)
                if os.read(file, 1) != b"\n":
                    line = b"\n" + line
            written = os.write(file, line)
            os.fsync(file)
        finally:
            os.close(file)
    if written != len(line):
        raise OSError(
            errno.ENOSPC,
            f"A record must be written whole. Received: {written} of "
            f"{len(line)} bytes in {path}. Make room on the disk and run "
            "again.",
        )


def read_records(path):
    """Reads what `append_record()` wrote.

    Args:
        path: String or path.

    Returns:
        List of dicts, empty if there is no file. A line that is not whole is
        left out, with a warning that names it.
    """
    return RecordLog(path).read()


class RecordLog:
    """Reads a file of records again and again, each line once.

    Between two reads `append_record()` of this process or of others may have
    added lines: these alone are read and parsed. A file that was replaced or
    has become shorter is read anew.

    Args:
        path: String or path; the file may come later.

    Example:

    >>> import os, tempfile
    >>> from reproduce.record_file import RecordLog, append_record
    >>> path = os.path.join(tempfile.mkdtemp(), "points.jsonl")
    >>> log = RecordLog(path)
    >>> append_record(path, {"seed": 0})
    >>> log.read()
    [{'seed': 0}]
    """

    def __init__(self, path):
        self.path = str(path)
        self._begin()

    def read(self):
        """All records so far.

        Returns:
            List of dicts, the same object as long as records are only added.
            A line that is not whole is left out, with one warning that names
            it.
        """
        tail = self._advance()
        if tail and tail != self._told:
            # Perhaps it is being written at this moment.
            time.sleep(0.05)
            tail = self._advance()
        if tail:
            self._tell(self._lines + 1, tail)
        return self._records

    def _begin(self):
        self._records, self._lines, self._place = [], 0, 0
        self._told = self._file = None

    def _advance(self):
        """Takes in what has been added; returns a last line that is cut."""
        try:
            added = self._added()
        except FileNotFoundError:
            self._begin()
            return b""
        *lines, tail = added.split(b"\n")
        for line in lines:
            self._lines += 1
            self._take(line)
        self._place += len(added) - len(tail)
        if tail and _parse(tail) is not None:
            # Whole without its line break: what follows begins with one.
            self._take(tail)
            self._place += len(tail)
            tail = b""
        return tail

    def _added(self):
        """Reads the bytes that have been added to the file."""
        with open(self.path, "rb") as file:
            found = os.fstat(file.fileno())
            same = self._file in (None, found.st_ino)
            if not same or found.st_size < self._place:
                self._begin()
            self._file = found.st_ino
            file.seek(self._place)
            return file.read()

    def _take(self, line):
        record = _parse(line)
        if record is not None:
            self._records.append(record)
        elif line.strip():
            self._tell(self._lines, line)

    def _tell(self, number, line):
        """Warns of a line that is not whole, once."""
        if line == self._told:
            return
        self._told = line
        warnings.warn(
            f"{self.path}, line {number} is not whole, or not as it was "
            f"written, and does not count: {line[:60]!r}.",
            stacklevel=4,
        )


def _parse(line):
    try:
        record = unsealed(json.loads(line))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
