"""Reading JSON files, with errors that say which file and what to do."""

import gzip
import json
import zlib


def malformed(path, where, problem, cure):
    """Makes the error for a data file that is not as it should be.

    Args:
        path: String or path of the file.
        where: String, the place in the file; empty for the whole of it.
        problem: String, what is wrong there.
        cure: String, a sentence that says what to do.

    Returns:
        ValueError, to be raised by the caller.
    """
    place = f" in {where}" if where else ""
    return ValueError(
        f"`path` must name a well-formed file. Received: path={str(path)!r},"
        f" where{place} {problem}. {cure}"
    )


def read_bytes(path):
    """Reads a file, gzipped or not.

    Args:
        path: String or path. A gzipped file is recognized by its content.

    Returns:
        Bytes, unpacked.

    Raises:
        ValueError: If the compressed data are cut off.
        OSError: If there is no such file.
    """
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    opener = gzip.open if zipped else open
    try:
        with opener(path, "rb") as file:
            return file.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise malformed(
            path,
            "",
            f"the compressed data are cut off or damaged ({error})",
            "Download or copy the file again.",
        ) from error


def read_json(path, object_hook=None):
    """Reads a JSON file, gzipped or not.

    Args:
        path: String or path. A gzipped file is recognized by its content.
        object_hook: Function, optional, called on each object read, as in
            `json.load()`.

    Returns:
        The content as Python objects.

    Raises:
        ValueError: If the file is cut off or is not JSON.
        OSError: If there is no such file.
    """
    content = read_bytes(path)
    try:
        return json.loads(content, object_hook=object_hook)
    except ValueError as error:
        raise malformed(
            path,
            "",
            f"the JSON is cut off or damaged ({error})",
            "Download or copy the file again; if it is compressed in another "
            "way than gzip, unpack it first.",
        ) from error
