"""A sweep: many runs, each done once, by as many processes as there are."""

import contextlib
import datetime
import hashlib
import json
import os
import time
import traceback

from reproduce.locks import locked
from reproduce.sweep_records import RECORD
from reproduce.sweep_records import expand_grid
from reproduce.sweep_records import flat_record
from reproduce.sweep_records import merge_records
from reproduce.sweep_records import plain_result
from reproduce.sweep_records import plain_settings
from reproduce.sweep_records import read_lines
from reproduce.sweep_records import read_record
from reproduce.sweep_records import settings_key
from reproduce.sweep_records import settings_name
from tfcap._io import is_full
from tfcap._io import make_folder
from tfcap._io import read_sealed
from tfcap._io import sealed
from tfcap._io import whole_file
from tfcap.training import from_chief
from tfcap.training import is_chief

_FAILURE = "failure.json"


class Sweep:
    """Runs every point of a grid once, and keeps what each gave.

    A point has a folder, `points/NAME`, in which `record.json` appears, whole,
    the moment it is done. So a sweep that was stopped, by Ctrl-C or by force,
    does what is missing when it is started again; a grid that has grown, its
    new points. Started several times, in several terminals or by several tasks
    of a cluster on one disk, each process takes points that are not there yet
    and that no other has locked. Under a `tf.distribute` strategy of several
    workers, these do a point together.

    A point that fails leaves `failure.json` in its folder, its traceback with
    it, and does not stop the others. The next start tries it again.

    Args:
        directory: String or path, made if absent. Points that it has in
            `points.jsonl`, as published records are, are done.
        run: Function of a point's settings, a dict, and a folder of its own, a
            string, for checkpoints from which it goes on where it was stopped,
            or anything else to keep. Returns a dict of what was found: numbers
            and strings; one that is not finite is kept as `None`.
        grid: Dict of settings by name, in which a list is an axis, or a list
            of such dicts. Values are strings, numbers, booleans or `None`.
        shared: What JSON can hold and all points have in common, such as the
            data and the training settings. Written to `sweep.json`; a
            directory that was made with another one is refused. Defaults to
            `None`.
        digest: String that identifies the data of all points. Kept in
            `sweep.json` and with every point; a directory with points of
            another one is refused. Points that were made without a digest
            count as done. Defaults to `None`, nothing is checked.
        headline: Names of the results that are told first when a point is
            done. Defaults to `()`: the first six numbers are told.
        measures: Names that results are to have. A point without one is run
            once more, and what it then finds more is added. Defaults to `()`.
        verbose: 1 to print each point, 0 for silence. Defaults to `1`.

    Raises:
        TypeError: If settings have a value that JSON has no scalar for.
        ValueError: If the grid has no point, or the directory is that of a
            sweep with other shared settings.

    Example:

    >>> import tempfile
    >>> def run(settings, folder):
    ...     return {"cider_d": 1 - 100 * settings["lambda"]}
    >>> grid = {"method": "psst", "lambda": [1e-3, 3e-3], "seed": 0}
    >>> folder = tempfile.mkdtemp()
    >>> sweep = reproduce.sweep.Sweep(folder, run, grid, verbose=0)
    >>> sweep.work()
    0
    >>> [record["cider_d"] for record in sweep.records()]
    [0.9, 0.7]
    """

    def __init__(
        self,
        directory,
        run,
        grid,
        shared=None,
        measures=(),
        verbose=1,
        digest=None,
        headline=(),
    ):
        self.directory = str(directory)
        self.run = run
        self.points = expand_grid(grid)
        self.shared = shared
        self.digest = digest
        self.headline = tuple(headline)
        self.measures = tuple(measures)
        self.verbose = verbose
        self._mark = _mark(shared)
        self._own()
        lines = read_lines(self._path("points.jsonl"))
        self._check(lines, "points.jsonl")
        self._published = merge_records(lines)
        # Records that have been read, with the time of their file.
        self._read = {}
        # Refuses records of other settings or data.
        self.records()
        # Keys of points whose measures could not all be had.
        self._incomplete = set()

    def work(self, wait=True, most=None, begun=None):
        """Does the points that are missing.

        Args:
            wait: Boolean, whether to stay while other processes are at work,
                to list their failures and take over what they leave behind.
                Defaults to `True`.
            most: Integer, points after which to end though some are left.
                Defaults to `None`, none.
            begun: Float, the time since which failures are not tried again, as
                of `time.time()`. Defaults to `None`, now.

        Returns:
            0, or 1 if a point of the grid has failed: an exit code. `None`
            where `most` has ended it.
        """
        begun = time.time() if begun is None else begun
        waiting, done = False, 0
        while left := from_chief(self._left(begun)):
            if done == most:
                return None
            if any(self._try(point, begun) for point in left):
                waiting, done = False, done + 1
                continue
            if not wait:
                break
            if not waiting:
                self._say(f"Waiting for {len(left)} points of other processes.")
            waiting = True
            time.sleep(1.0)
        return self._conclude(begun)

    def records(self):
        """Results of the grid's points that are done.

        Returns:
            List of dicts, a point's settings and findings in one, in the order
            of the grid.
        """
        found = map(self._record, self.points)
        return [flat_record(record) for record in found if record]

    def missing(self):
        """The grid's points that are not done, as a list of settings."""
        return [point for point in self.points if not self._is_done(point)]

    def incomplete(self):
        """The grid's points that are done, but for some measures."""
        return [point for point in self.missing() if self._record(point)]

    def failures(self):
        """Failures of the grid's points that are not done.

        Returns:
            List of dicts of `settings`, `error`, `traceback` and `time`.
        """
        found = map(self._failure, self.missing())
        return [failure for failure in found if failure]

    def folder(self, settings):
        """The folder that `run` is given for a point."""
        return self._path("points", settings_name(settings))

    def _try(self, point, begun):
        """Does a point if no other process has it. Returns whether it was."""
        folder = self.folder(point)
        make_folder(folder)
        with contextlib.ExitStack() as stack:
            held = is_chief() and stack.enter_context(
                locked(os.path.join(folder, "lock"), wait=False)
            )
            if not from_chief(bool(held)):
                return False
            # Another process may have ended between our look and our lock.
            if from_chief(self._is_left(point, begun)):
                self._do(point, folder)
        return True

    def _do(self, point, folder):
        number = f"[{self.points.index(point) + 1}/{len(self.points)}]"
        name = ", ".join(f"{k}={v}" for k, v in point.items())
        self._say(f"{number} {name}")
        begun = time.monotonic()
        try:
            result = self.run(dict(point), folder)
            result = plain_result(result, point)
        except Exception as error:
            if is_full(error):
                # No fault of the point, and no other point will do better.
                raise
            text = f"{type(error).__name__}: {error}"
            failure = {
                "settings": plain_settings(point),
                "error": text,
                "traceback": traceback.format_exc(),
                "time": time.time(),
            }
            _write(os.path.join(folder, _FAILURE), failure)
            self._say(f"{number} failed: {text}")
            if os.environ.get("TF_CONFIG"):
                # The others are in the midst of it, and cannot go on.
                raise
            return
        if is_chief():
            seconds = round(time.monotonic() - begun, 3)
            self._keep(number, point, result, seconds)

    def _keep(self, number, point, result, seconds):
        """Writes down what a point has found; what was found first stands."""
        known = self._record(point)
        found = {**result, **known["result"]} if known else result
        lacking = [name for name in self.measures if name not in found]
        if lacking:
            self._incomplete.add(settings_key(point))
            self._say(f"{number} is without {', '.join(lacking)}.")
        if known is None or found.keys() > known["result"].keys():
            about = {
                "settings": plain_settings(point),
                "result": found,
                "shared": self._mark,
                **({"digest": self.digest} if self.digest else {}),
                "seconds": seconds,
                "time": _now(),
            }
            _write(os.path.join(self.folder(point), RECORD), about)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder(point), _FAILURE))
        brief = _brief(result, self.headline)
        self._say(f"{number} {brief} ({seconds:.0f} s)")

    def _left(self, begun):
        """Points neither done nor failed since this start."""
        return [p for p in self.points if self._is_left(p, begun)]

    def _is_left(self, point, begun):
        return not (self._is_done(point) or self._has_failed(point, begun))

    def _is_done(self, point):
        """Check whether all measures are there, as far as they can be had."""
        record = self._record(point)
        return record is not None and (
            settings_key(point) in self._incomplete
            or all(name in record["result"] for name in self.measures)
        )

    def _has_failed(self, point, begun):
        failure = self._failure(point)
        return failure is not None and failure["time"] >= begun

    def _record(self, point):
        """The record of a point, or `None`; each file is read once."""
        path = os.path.join(self.folder(point), RECORD)
        try:
            stamp = os.stat(path).st_mtime_ns
        except FileNotFoundError:
            return self._published.get(settings_key(point))
        known, record = self._read.get(path, (None, None))
        if stamp != known:
            record = read_record(path)
            self._check([record], path)
            self._read[path] = stamp, record
        return record

    def _failure(self, point):
        path = os.path.join(self.folder(point), _FAILURE)
        try:
            return read_sealed(path, "Remove it: the point is done again.")
        except FileNotFoundError:
            return None

    def _conclude(self, begun):
        missing = self.missing()
        failed = [p for p in missing if self._has_failed(p, begun)]
        count = len(self.points) - len(missing)
        self._say(f"{count} of {len(self.points)} points are done.")
        if failed:
            self._say(f"{len(failed)} failed; see points/*/{_FAILURE}:")
        for point in failed:
            self._say(
                f"  {settings_key(point)}: {self._failure(point)['error']}"
            )
        return int(bool(failed))

    def _own(self):
        """Writes down what the sweep is about; refuses another one's folder."""
        make_folder(self.directory)
        path = self._path("sweep.json")
        try:
            found = read_sealed(path, "Move it elsewhere: it is made again.")
        except FileNotFoundError:
            about = {"shared": self.shared}
            _write(
                path, about | ({"digest": self.digest} if self.digest else {})
            )
        else:
            known = isinstance(found, dict) and "shared" in found
            mark = _mark(found["shared"]) if known else None
            self._check([{**found, "shared": mark}] if known else [{}], path)

    def _check(self, records, path):
        """Refuses what is of other settings, or of other data."""
        name = os.path.basename(path)
        if any(record.get("shared") != self._mark for record in records):
            raise ValueError(
                "`directory` must be empty or of a sweep with the same shared "
                f"settings. Received: directory={self.directory!r}, in which "
                f"{name} is of others than shared={self.shared!r}. Choose "
                "another one."
            )
        digests = {record.get("digest", self.digest) for record in records}
        if self.digest is not None and digests - {self.digest}:
            raise ValueError(
                "`directory` must be empty or of a sweep on the same data. "
                f"Received: directory={self.directory!r}, in which {name} is "
                "of data with other ids, captions or features. Choose another "
                "one."
            )

    def _path(self, *names):
        return os.path.join(self.directory, *names)

    def _say(self, text):
        if self.verbose and is_chief():
            print(text, flush=True)


def _write(path, content):
    with whole_file(path, "w") as file:
        json.dump(sealed(content), file, allow_nan=False)


def _mark(shared):
    """Hash that tells sweeps with other shared settings apart."""
    text = json.dumps(shared, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _now():
    now = datetime.datetime.now(datetime.UTC)
    return now.isoformat(timespec="microseconds")


def _brief(result, headline=()):
    """Six numbers of a result, in a line, some of them before others."""
    numbers = {
        name: value
        for name, value in result.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    names = [name for name in headline if name in numbers]
    names = list(dict.fromkeys([*names, *numbers]))[:6]
    return ", ".join(f"{name} {numbers[name]:.4g}" for name in names)
