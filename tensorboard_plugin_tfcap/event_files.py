"""Checks of event files: TensorBoard stops at a damaged record and is silent.

A file is a sequence of records: eight bytes of length, a checksum of these,
the data, and a checksum of the data, all little-endian. A record that is cut
off at the end of a file may still be written, and is not damage.
"""

import math
import os
import struct
import threading
import time

from tensorboard.summary.writer.record_writer import masked_crc32c

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
#: Sentences about files.
_MOST = 5


class EventFiles:
    """Checks event files, every byte once: later calls read what is new.

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
            folder: Path of the log directory. Of what is no local folder,
                there are none.
        """
        end = time.monotonic() + self._seconds
        reasons = {}
        with self._lock:
            for path in _event_files(folder):
                try:
                    place = self._damaged.get(path) or self._check(path, end)
                except FileNotFoundError:
                    # The run was removed a moment ago.
                    continue
                except OSError as error:
                    reasons[path] = f"cannot be read: {error.strerror}."
                    continue
                if place is not None:
                    reasons[path] = (
                        f"is not as it was written from byte {place} on. "
                        "Values from there on are missing, or wrong."
                    )
        sentences = []
        for path, reason in sorted(reasons.items()):
            run, name = os.path.split(os.path.relpath(path, folder))
            sentences.append(
                f"Run {run or '.'!r:.120} is damaged: its event file {name} "
                f"{reason}"
            )
        if len(sentences) > _MOST:
            more = len(sentences) - _MOST
            sentences[_MOST:] = [f"So are {more} more event files."]
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


def _event_files(folder):
    """Paths of event files below a folder, as TensorBoard finds them."""
    known = set()
    for path, folders, names in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(path)) in known:
            folders.clear()
            continue
        known.add(real)
        for name in sorted(names):
            # What a Mac keeps beside a file in archives is no event file.
            if "tfevents" in name and not name.startswith("._"):
                yield os.path.join(path, name)
