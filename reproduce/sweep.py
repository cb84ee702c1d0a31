"""A sweep: many runs, each done once, in one or several processes."""

import contextlib
import datetime
import glob
import hashlib
import itertools
import json
import math
import os
import re
import time
import traceback
import warnings

import numpy as np

from reproduce.locks import locked
from tfcap._io import is_full
from tfcap._io import make_folder
from tfcap._io import read_sealed
from tfcap._io import sealed
from tfcap._io import unsealed
from tfcap._io import whole_file
from tfcap.training import from_chief
from tfcap.training import is_chief

_RECORD, _FAILURE = "record.json", "failure.json"
_AGAIN = "Move it elsewhere: the point is done again."
#: Identifies a panel: its recall by human captions, the same for all points.
PANEL = "human_strangers_r@10"
#: Machines may differ in the rank of a caption or two.
SAME_PANEL = 0.05


class Sweep:
    """Runs every point of a grid once, and saves each result.

    A point has a folder, `points/NAME`, in which `record.json` appears, whole,
    when it is done. A sweep that was stopped, by Ctrl-C or by force, runs the
    missing points when it is started again; so does one whose grid has grown.
    Several processes, in several terminals or as several tasks of a cluster on
    one disk, share the work: each takes points that are not done and that no
    other process has locked. Under a `tf.distribute` strategy of several
    workers, these run each point together.

    A point that fails leaves `failure.json` with the traceback in its folder,
    and does not stop the others. The next start tries it again.

    Args:
        directory: String or path, made if absent.
        run: Function of a point's settings, a dict, and of the path of its
            folder, for checkpoints or anything else to save. Returns a dict of
            numbers and strings; numbers that are not finite become `None`.
        grid: As of `expand_grid()`.
        shared: Dict that JSON can hold, of what all points have in common,
            such as the data, their digest and the training settings. Written
            to `sweep.json`; a directory with another one is rejected.
        measures: Names that results must have. A point that lacks one is run
            once more, and its new results are added. Defaults to `()`.
        verbose: 1 to print each point, 0 for silence. Defaults to `1`.

    Raises:
        ValueError: If the directory is that of a sweep with other shared
            settings.

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
        self, directory, run, grid, shared=None, measures=(), verbose=1
    ):
        self.directory = str(directory)
        self.run = run
        self.points = expand_grid(grid)
        self.shared = shared or {}
        self.measures = tuple(measures)
        self.verbose = verbose
        self._mark = _mark(self.shared)
        # Keys of points whose measures could not all be had.
        self._incomplete = set()
        self._own()

    def work(self, most=None, begun=None):
        """Runs the missing points, and waits for other processes.

        Args:
            most: Integer, points after which to end though some are left.
                Defaults to `None`, no limit.
            begun: Float, the time since which failures are not tried again, as
                of `time.time()`. Defaults to `None`, now.

        Returns:
            The exit status: 0, or 1 if a point of the grid has failed. `None`
            if `most` was reached.
        """
        begun = time.time() if begun is None else begun
        waiting, done = False, 0
        while left := from_chief(self._left(begun)):
            if done == most:
                return None
            if any(self._try(point, begun) for point in left):
                waiting, done = False, done + 1
                continue
            if not waiting:
                self._say(f"Waiting for {len(left)} points of other processes.")
            waiting = True
            time.sleep(1.0)
        return self._conclude(begun)

    def records(self):
        """Results of the grid's points that are done.

        Returns:
            List of dicts of a point's settings and results, in the order of
            the grid.
        """
        found = map(self._record, self.points)
        return [_flat(record) for record in found if record]

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
        failure = os.path.join(folder, _FAILURE)
        try:
            result = _plain_result(self.run(dict(point), folder))
        except Exception as error:
            if is_full(error):
                # No fault of the point, and no other point will do better.
                raise
            text = f"{type(error).__name__}: {error}"
            about = {"settings": point, "error": text, "time": time.time()}
            _write(failure, {**about, "traceback": traceback.format_exc()})
            self._say(f"{number} failed: {text}")
            if os.environ.get("TF_CONFIG"):
                # The others are in the midst of it, and cannot go on.
                raise
            return
        if is_chief():
            seconds = round(time.monotonic() - begun, 3)
            self._keep(number, point, result, seconds)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(failure)

    def _keep(self, number, point, result, seconds):
        """Saves the results of a point; earlier results are kept."""
        known = (self._record(point) or {"result": {}})["result"]
        found = {**result, **known}
        lacking = [name for name in self.measures if name not in found]
        if lacking:
            self._incomplete.add(settings_key(point))
            self._say(f"{number} is without {', '.join(lacking)}.")
        now = datetime.datetime.now(datetime.UTC)
        about = {
            "settings": _plain_settings(point),
            "result": found,
            "shared": self._mark,
            "seconds": seconds,
            "time": now.isoformat(timespec="microseconds"),
        }
        if not known or found.keys() > known.keys():
            _write(os.path.join(self.folder(point), _RECORD), about)
        self._say(f"{number} {_brief(result)} ({seconds:.0f} s)")

    def _left(self, begun):
        """Points neither done nor failed since this start."""
        return [p for p in self.points if self._is_left(p, begun)]

    def _is_left(self, point, begun):
        return not (self._is_done(point) or self._has_failed(point, begun))

    def _is_done(self, point):
        """Checks that all measures are there, except those that failed."""
        record = self._record(point)
        return record is not None and (
            settings_key(point) in self._incomplete
            or all(name in record["result"] for name in self.measures)
        )

    def _has_failed(self, point, begun):
        failure = self._failure(point)
        return failure is not None and failure["time"] >= begun

    def _record(self, point):
        """The record of a point, or `None`."""
        path = os.path.join(self.folder(point), _RECORD)
        if not os.path.exists(path):
            return None
        record = _read_record(path)
        self._check(record.get("shared"), path)
        return record

    def _failure(self, point):
        path = os.path.join(self.folder(point), _FAILURE)
        return read_sealed(path, _AGAIN) if os.path.exists(path) else None

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
        """Saves what the sweep is about; rejects the folder of another one."""
        make_folder(self.directory)
        path = self._path("sweep.json")
        if os.path.exists(path):
            hint = "Move it elsewhere: it is made again."
            self._check(_mark(read_sealed(path, hint)), path)
        else:
            _write(path, self.shared)
        # Rejects records of other settings or data.
        self.records()

    def _check(self, mark, path):
        """Rejects records of other settings or data."""
        if mark != self._mark:
            raise ValueError(
                "`directory` must be empty or of a sweep with the same shared "
                "settings on the same data. Received: "
                f"directory={self.directory!r}, in which "
                f"{os.path.basename(path)} is of others. Choose another one."
            )

    def _path(self, *names):
        return os.path.join(self.directory, *names)

    def _say(self, text):
        if self.verbose and is_chief():
            print(text, flush=True)


def expand_grid(grid) -> list[dict]:
    """All points of a grid.

    Args:
        grid: Dict of settings by name, in which a list is an axis and anything
            else holds for all points; or a list of such dicts, for methods
            that have different settings. Values are strings, finite numbers,
            booleans or `None`.

    Returns:
        List of dicts. The last axis varies fastest. A point that several
        dicts give is there once.

    Example:

    >>> from reproduce.sweep import expand_grid
    >>> expand_grid({"method": "psst", "lambda": [1e-3, 3e-3]})
    [{'method': 'psst', 'lambda': 0.001}, {'method': 'psst', 'lambda': 0.003}]
    """
    points = {}
    for part in [grid] if isinstance(grid, dict) else grid:
        axes = [v if isinstance(v, list) else [v] for v in part.values()]
        for values in itertools.product(*axes):
            point = dict(zip(part, values))
            points.setdefault(settings_key(point), point)
    return list(points.values())


def settings_key(settings: dict) -> str:
    """Settings as one string, the same for all ways to write them.

    Example:

    >>> from reproduce.sweep import settings_key
    >>> settings_key({"seed": 0, "lambda": 1.0})
    '{"lambda":1,"seed":0}'
    """
    plain = _plain_settings(settings)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def settings_name(settings: dict) -> str:
    """A name for files: readable, and of these settings alone.

    Example:

    >>> from reproduce.sweep import settings_name
    >>> settings_name({"method": "psst", "lambda": 1e-3})
    'method=psst,lambda=0.001-dab0a430'
    """
    key = settings_key(settings).encode()
    plain = _plain_settings(settings)
    words = ",".join(f"{name}={value}" for name, value in plain.items())
    words = re.sub(r"[^\w=,.+-]", "_", words, flags=re.ASCII)
    return f"{words[:100]}-{hashlib.sha256(key).hexdigest()[:8]}"


def _plain_settings(settings):
    """Settings as JSON holds them, numbers in one form."""
    plain = {}
    for name, value in settings.items():
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        known = value is None or isinstance(value, str | int | float)
        if not known or isinstance(value, float) and not math.isfinite(value):
            raise ValueError(
                "Settings must be strings, finite numbers, booleans or None. "
                f"Received: {name}={value!r}."
            )
        plain[name] = value
    return plain


def load_records(directory):
    """Results of a sweep so far.

    Reads the folders of a sweep's points, and `points.jsonl`, as published
    records are.

    Returns:
        List of dicts of a point's settings and results, in the order in which
        they were done. The first result of a score counts.

    Raises:
        ValueError: If there is no record, or if points are of several sweeps
            or panels of held-out listeners.

    Example:

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> reproduce.sweep.Sweep(
    ...     folder, lambda settings, _: {"r@10": 55.0}, {"seed": 0}, verbose=0
    ... ).work()
    0
    >>> reproduce.sweep.load_records(folder)
    [{'seed': 0, 'r@10': 55.0}]
    """
    folder = str(directory)
    pattern = os.path.join(glob.escape(folder), "points", "*", _RECORD)
    points = map(_read_record, sorted(glob.glob(pattern)))
    points = sorted(points, key=lambda record: record.get("time", ""))
    records = {}
    for record in [*_read_lines(os.path.join(folder, "points.jsonl")), *points]:
        known = records.setdefault(settings_key(record["settings"]), record)
        known["result"] = {**record["result"], **known["result"]}
    if not records:
        raise ValueError(
            "`directory` must be of a sweep with a point. Received: "
            f"directory={folder!r}, without a record in points.jsonl or "
            f"points/*/{_RECORD}. Run the sweep first."
        )
    _check_alike(directory, records.values())
    return [_flat(record) for record in records.values()]


def _check_alike(directory, records):
    """Rejects points that are not to be compared seed by seed."""
    marks = sorted({str(r["shared"]) for r in records if r.get("shared")})
    heard = sorted({r["result"].get(PANEL) for r in records} - {None})
    found = [f"shared settings {mark}" for mark in marks[1:] and marks]
    if heard and heard[-1] - heard[0] > SAME_PANEL:
        found += [f"{PANEL} {recall:.3f}" for recall in heard]
    if found:
        raise ValueError(
            "`directory` must be of one sweep, evaluated by one panel of "
            "held-out listeners. Received: "
            f"directory={str(directory)!r}, with points of "
            f"{', '.join(found)}. Keep the points of one, and run the others "
            "again, into an empty folder."
        )


def _read_record(path) -> dict:
    """The record of a point, from its folder."""
    return _checked(read_sealed(path, _AGAIN), path)


def _read_lines(path) -> list[dict]:
    """The records of a published sweep, a line each; none without the file.

    A line that is not whole is left out, with a warning that names it.
    """
    if not os.path.exists(path):
        return []
    records = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = unsealed(json.loads(line))
            except (ValueError, RecursionError):
                if line.strip():
                    warnings.warn(
                        f"{path}, line {number} is not whole, or not as it "
                        f"was written, and does not count: {line[:60]!r}.",
                        stacklevel=3,
                    )
                continue
            records.append(_checked(record, path))
    return records


def _checked(record, path):
    names = "settings", "result"
    if isinstance(record, dict) and all(
        isinstance(record.get(name), dict) for name in names
    ):
        return record
    raise ValueError(
        f"`{path}` must hold settings and results. Received: a record "
        f"{record!r:.200}. {_AGAIN}"
    )


def _flat(record):
    """A record as one dict of settings and results."""
    return {**record["settings"], **record["result"]}


def _plain_result(value):
    """A run's results as JSON holds them; raises where it cannot."""

    def finite(value):
        if isinstance(value, np.ndarray | np.generic):
            value = value.tolist()
        if isinstance(value, dict):
            return {name: finite(x) for name, x in value.items()}
        if isinstance(value, list | tuple):
            return [finite(x) for x in value]
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return value

    return json.loads(json.dumps(finite(dict(value))))


def _write(path, content):
    with whole_file(path, "w") as file:
        json.dump(sealed(content), file, allow_nan=False)


def _mark(shared):
    """Hash that tells sweeps with other shared settings apart."""
    text = json.dumps(shared, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _brief(result):
    """Six numbers of a result, in a line."""
    numbers = {k: v for k, v in result.items() if isinstance(v, int | float)}
    return ", ".join(f"{k} {v:.4g}" for k, v in [*numbers.items()][:6])
