"""Files of records that several processes add to, a line each."""

import errno
import json
import os
import time
import warnings

from tfcap.text.whole_file import told_if_full


def append_record(path, record):
    """Adds a record to a file of JSON lines, whole or not at all.

    The line is written by one call to the end of the file, where processes do
    not overwrite each other, and is on the disk on return.

    Args:
        path: String or path; the file is made if absent.
        record: Dict that JSON can hold.

    Raises:
        OSError: If the line could not be written whole, as on a full disk.
        TypeError, ValueError: If JSON cannot hold the record; then nothing is
            written.
    """
    data = json.dumps(record, allow_nan=False).encode() + b"\n"
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    file = os.open(path, flags, 0o666)
    try:
        # A writer that died may have left half a line; ours must not join it.
        if os.lseek(file, 0, os.SEEK_END):
            os.lseek(file, -1, os.SEEK_END)
            if os.read(file, 1) != b"\n":
                data = b"\n" + data
        with told_if_full(path, "The records in it are as they were"):
            written = os.write(file, data)
            os.fsync(file)
    finally:
        os.close(file)
    if written != len(data):
        raise OSError(
            errno.ENOSPC,
            f"A record must be written whole. Received: {written} of "
            f"{len(data)} bytes in {path}. Make room on the disk and run "
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
    try:
        lines = _lines(path)
        if lines[-1] and _parse(lines[-1]) is None:
            # Perhaps it is being written at this moment.
            time.sleep(0.05)
            lines = _lines(path)
    except FileNotFoundError:
        return []
    records = []
    for number, line in enumerate(lines, 1):
        record = _parse(line)
        if record is not None:
            records.append(record)
        elif line.strip():
            warnings.warn(
                f"{path}, line {number} is not whole and does not count: "
                f"{line[:60]!r}.",
                stacklevel=2,
            )
    return records


def _lines(path):
    with open(path, "rb") as file:
        return file.read().split(b"\n")


def _parse(line):
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
