"""Checks of event files: TensorBoard stops at a damaged record silently.

A file is a sequence of records: eight bytes of length, a checksum of these,
the data, and a checksum of the data, all little-endian. A record that is cut
off at the end of a file may still be in progress and is not damaged.
"""

import math
import os
import struct
import threading
import time

from tensorboard.summary.writer.record_writer import masked_crc32c

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
#: How many files have a sentence.
_MOST = 5


class EventFiles:
    """Checks event files; later calls read only what is new.

    Args:
        seconds: Float, how long one call of `damage()` may take; the next
            one goes on. Defaults to no limit.
    """

    def __init__(self, seconds: float = math.inf):
        self._seconds = seconds
        self._places = {}
        self._damaged = {}
        self._lock = threading.Lock()

    def damage(self, folder: str) -> list[str]:
        """Sentences about the damaged event files of a log.

        Args:
            folder: Path of the log directory. Where it is not a local folder,
                there are no sentences.
        """
        end = time.monotonic() + self._seconds
        reasons, errors, sentences = {}, {}, []
        with self._lock:
            for path in [
                os.path.join(run, name)
                for run, names in run_folders(folder, errors)
                for name in names
            ]:
                try:
                    place = self._damaged.get(path) or self._check(path, end)
                except FileNotFoundError:
                    # The run was removed a moment ago.
                    continue
                except IsADirectoryError:
                    reasons[path] = (
                        "is a folder, and one of TensorBoard's loaders stops "
                        "at it. Rename it."
                    )
                    continue
                except OSError as error:
                    reasons[path] = f"cannot be read: {error.strerror}."
                    continue
                if place is not None:
                    reasons[path] = (
                        f"is corrupt from byte {place} on. Values from there "
                        "on are missing or wrong."
                    )
        for path, error in errors.items():
            name = os.path.relpath(path, folder)
            sentences.append(
                f"Folder {name!r:.120} cannot be read: {error.strerror}. Runs "
                "in it are missing."
            )
        for path, reason in sorted(reasons.items()):
            run, name = os.path.split(os.path.relpath(path, folder))
            sentences.append(
                f"Run {run or '.'!r:.120} is damaged: its event file {name} "
                f"{reason}"
            )
        if len(sentences) > _MOST:
            more = len(sentences) - _MOST
            sentences[_MOST:] = [
                f"{more} more event files or folders are damaged."
            ]
        return sentences

    def _check(self, path, end):
        """Reads on, and returns the place of the first damaged record."""
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            place = file.seek(self._places.get(path, 0))
            while time.monotonic() <= end:
                length = _record_length(file, size - place)
                if length is None:
                    self._damaged[path] = place
                    return place
                if not length:
                    break
                place += length
        self._places[path] = place
        return None


def _record_length(file, rest):
    """Length of the next record: 0 if it is cut off, `None` if damaged."""
    if rest < _HEADER.size:
        return 0
    header = file.read(_HEADER.size)
    length, checksum = _HEADER.unpack(header)
    if masked_crc32c(header[:8]) != checksum:
        return None
    whole = _HEADER.size + length + _FOOTER.size
    if whole > rest:
        return 0
    data = file.read(length)
    if masked_crc32c(data) != _FOOTER.unpack(file.read(_FOOTER.size))[0]:
        return None
    return whole


def run_folders(folder: str, errors: dict | None = None, above: tuple = ()):
    """Walks a log, also through links, but never in a circle.

    Args:
        errors: Dict that gets the error of each folder that cannot be read.
        above: Tuple of the real paths of the folders above.

    Yields:
        Pairs of a folder's path and the names of the event files in it, some of
        which may be folders.
    """
    real = os.path.realpath(folder)
    if real in above:
        return
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if errors is not None:
            errors[folder] = error
        return
    folders = [n for n in names if os.path.isdir(os.path.join(folder, n))]
    events = [*filter(_is_events, names)]
    if {*events} - {*folders}:
        yield folder, events
    for name in folders:
        below = os.path.join(folder, name)
        yield from run_folders(below, errors, (*above, real))


def _is_events(name):
    """Not the hidden files of macOS and rsync, nor the profiler's marks."""
    hidden = name.startswith(".") or name.endswith(".profile-empty")
    return "tfevents" in name and not hidden
