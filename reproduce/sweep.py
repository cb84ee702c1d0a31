"""A sweep: many runs, each done once, by as many processes as there are."""

import contextlib
import hashlib
import json
import os
import time
import traceback

from reproduce.claims import Claims
from reproduce.record_file import RecordLog
from reproduce.record_file import append_record
from reproduce.sweep_grid import expand_grid
from reproduce.sweep_grid import plain_settings
from reproduce.sweep_grid import settings_key
from reproduce.sweep_grid import settings_name
from reproduce.sweep_records import flat_record
from reproduce.sweep_records import merge_records
from reproduce.sweep_records import plain_result
from tfcap._io import is_full
from tfcap._io import make_folder
from tfcap._io import read_sealed
from tfcap._io import sealed
from tfcap._io import whole_file
from tfcap.training import from_chief
from tfcap.training import is_chief


class Sweep:
    """Runs every point of a grid once, and keeps what each gave.

    A point lands in `points.jsonl` the moment it is done, a line each, and
    nothing is ever changed or taken out there. So a sweep that was stopped, by
    Ctrl-C or by force, does what is missing when it is started again; a grid
    that has grown, its new points. Started several times, in several terminals
    or on several machines with one disk, it divides its points: who begins
    with one holds a claim on it (a file in `claims/`), which is taken over
    where its process has died. Under a `tf.distribute` strategy of several
    workers, these do a point together, and hold one claim.

    A point that fails is written to `failures.jsonl`, its traceback with it,
    and does not stop the others. The next start tries it again.

    Args:
        directory: String or path, made if absent.
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
            count as done, and it is said that they cannot be checked.
            Defaults to `None`, nothing is checked.
        headline: Names of the results that are told first when a point is
            done. Defaults to `()`: the first six numbers are told.
        measures: Names that results are to have. A point without one is run
            once more, and what it then finds more is added. Defaults to `()`.
        heartbeat: Float, seconds between signs of life of a claim. Defaults to
            `10.0`.
        patience: Float, seconds without one after which a claim is taken over;
            that of a process that died on the same machine, at once. Defaults
            to `120.0`.
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
        heartbeat=10.0,
        patience=120.0,
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
        self._keys = [settings_key(point) for point in self.points]
        self._mark = _mark(shared)
        make_folder(self.directory)
        self._own()
        self._log = RecordLog(self._path("points.jsonl"))
        self._failures = RecordLog(self._path("failures.jsonl"))
        # What has been taken out of the log: its records, how many, and how
        # they stand together.
        self._merged = (None, 0, {})
        self._tell_unchecked()
        self._claims = Claims(self._path("claims"), heartbeat, patience)
        # Keys of points whose measures could not all be had.
        self._incomplete = set()

    def work(self, wait=True, most=None, earlier=None):
        """Does the points that are missing.

        Args:
            wait: Boolean, whether to stay while other processes are at work,
                to list their failures and take over what they leave behind.
                Defaults to `True`.
            most: Integer, points after which to end though some are left.
                Defaults to `None`, none.
            earlier: Integer, failures that were known when this work began:
                later ones are not tried again. Defaults to `None`, all that
                are known now.

        Returns:
            0, or 1 if a point of the grid has failed: an exit code. `None`
            where `most` has ended it.
        """
        earlier = len(self.failures()) if earlier is None else earlier
        waiting, done = False, 0
        while left := from_chief(self._left(earlier)):
            if done == most:
                return None
            if any(self._try(key, point, earlier) for key, point in left):
                waiting, done = False, done + 1
                continue
            if not wait:
                break
            if not waiting:
                self._say(f"Waiting for {len(left)} points of other processes.")
            waiting = True
            time.sleep(min(1.0, self._claims.heartbeat))
        return self._conclude(earlier)

    def records(self):
        """Results of the grid's points that are done.

        Returns:
            List of dicts, a point's settings and findings in one, in the order
            of the grid.
        """
        found = self._found()
        return [flat_record(found[key]) for key in self._keys if key in found]

    def missing(self):
        """The grid's points that are not done, as a list of settings."""
        done = self._done()
        pairs = zip(self._keys, self.points)
        return [point for key, point in pairs if key not in done]

    def incomplete(self):
        """The grid's points that are done, but for some measures."""
        found, done = self._found(), self._done()
        pairs = zip(self._keys, self.points)
        return [p for key, p in pairs if key in found and key not in done]

    def failures(self):
        """Every failure so far, of this grid or another.

        Returns:
            List of dicts of `settings`, `error` and `traceback`, the oldest
            first. A point that was done later is still in it.
        """
        return list(self._failures.read())

    def folder(self, settings):
        """The folder that `run` is given for a point."""
        return self._path("points", settings_name(settings))

    def _try(self, key, point, earlier):
        """Does a point if it is free. Returns whether it was."""
        claim = None
        if is_chief():
            claim = self._claims.take(settings_name(point) + ".json")
        if not from_chief(claim is not None):
            return False
        with claim or contextlib.nullcontext():
            # Another process may have ended between our look and our claim.
            if from_chief(self._is_left(key, earlier)):
                self._do(key, point)
        return True

    def _do(self, key, point):
        number = f"[{self._keys.index(key) + 1}/{len(self._keys)}]"
        name = ", ".join(f"{k}={v}" for k, v in point.items())
        self._say(f"{number} {name}")
        folder = self.folder(point)
        make_folder(folder)
        begun = time.monotonic()
        try:
            result = self.run(dict(point), folder)
            result = plain_result(result, point)
        except Exception as error:
            if is_full(error):
                # No fault of the point, and no other point will do better.
                raise
            text = f"{type(error).__name__}: {error}"
            append_record(
                self._path("failures.jsonl"),
                {
                    "settings": plain_settings(point),
                    "error": text,
                    "traceback": traceback.format_exc(),
                    "time": _now(),
                },
            )
            self._say(f"{number} failed: {text}")
            if os.environ.get("TF_CONFIG"):
                # The others are in the midst of it, and cannot go on.
                raise
            return
        if is_chief():
            seconds = round(time.monotonic() - begun, 3)
            self._keep(number, key, point, result, seconds)

    def _keep(self, number, key, point, result, seconds):
        """Writes down what a point has found."""
        known = self._found().get(key)
        found = {**known["result"], **result} if known else result
        lacking = [name for name in self.measures if name not in found]
        if lacking:
            self._incomplete.add(key)
            self._say(f"{number} is without {', '.join(lacking)}.")
        # A process that was asleep may have been given up for dead.
        if known and known["result"].keys() >= result.keys():
            if not lacking:
                self._say(f"{number} was done by another process meanwhile.")
            return
        append_record(
            self._path("points.jsonl"),
            {
                "settings": plain_settings(point),
                "result": result,
                "shared": self._mark,
                **({"digest": self.digest} if self.digest else {}),
                "seconds": seconds,
                "time": _now(),
            },
        )
        brief = _brief(result, self.headline)
        self._say(f"{number} {brief} ({seconds:.0f} s)")

    def _left(self, earlier):
        """Points neither done nor failed since this start, after their keys."""
        out = set(self._done()) | set(self._failed(earlier))
        pairs = zip(self._keys, self.points)
        return [(key, point) for key, point in pairs if key not in out]

    def _is_left(self, key, earlier):
        """Check whether one point is neither done nor has failed."""
        record = self._found().get(key)
        done = record is not None and self._is_done(key, record)
        return not done and key not in self._failed(earlier)

    def _done(self):
        """Records with all measures, as far as this start can have them."""
        return {
            key: record
            for key, record in self._found().items()
            if self._is_done(key, record)
        }

    def _is_done(self, key, record):
        return key in self._incomplete or all(
            name in record["result"] for name in self.measures
        )

    def _found(self):
        """Records by key; only lines that have been added are looked at."""
        records, (known, count, found) = self._log.read(), self._merged
        if records is not known:
            count, found = 0, {}
        added = records[count:]
        if any(record.get("shared") != self._mark for record in added):
            raise ValueError(self._refusal(self._log.path))
        for record in added:
            self._check_data(record, self._log.path)
        merge_records(added, found)
        self._merged = records, len(records), found
        return found

    def _failed(self, earlier):
        records = self._failures.read()[earlier:]
        return {settings_key(r["settings"]): r for r in records}

    def _conclude(self, earlier):
        done, records = self._done(), self._failed(earlier)
        failed = [k for k in self._keys if k in records and k not in done]
        count = sum(key in done for key in self._keys)
        self._say(f"{count} of {len(self._keys)} points are done.")
        if failed:
            self._say(f"{len(failed)} failed; see failures.jsonl:")
        for key in failed:
            self._say(f"  {key}: {records[key]['error']}")
        return int(bool(failed))

    def _own(self):
        """Writes down what the sweep is about; refuses another one's folder."""
        path = self._path("sweep.json")
        try:
            found = read_sealed(path, "Move it elsewhere: it is made again.")
        except FileNotFoundError:
            with whole_file(path, "w") as file:
                about = {"shared": self.shared}
                if self.digest:
                    about["digest"] = self.digest
                json.dump(sealed(about), file, indent=1)
        else:
            known = isinstance(found, dict) and "shared" in found
            if not known or _mark(found["shared"]) != self._mark:
                raise ValueError(self._refusal(path))
            self._check_data(found, path)

    def _check_data(self, found, path):
        """Refuses what is of other data, where both have a digest."""
        if self.digest is None or found.get("digest", self.digest) == (
            self.digest
        ):
            return
        raise ValueError(
            "`directory` must be empty or of a sweep on the same data. "
            f"Received: directory={self.directory!r}, in which "
            f"{os.path.basename(path)} is of data with other ids, captions or "
            "features. Choose another one."
        )

    def _tell_unchecked(self):
        """Says how many points were made before there were digests."""
        records = self._found().values() if self.digest else ()
        bare = sum("digest" not in record for record in records)
        if bare:
            self._say(
                f"{bare} points were written without a digest of their data: "
                "that these are the same data cannot be checked."
            )

    def _refusal(self, path):
        return (
            "`directory` must be empty or of a sweep with the same shared "
            f"settings. Received: directory={self.directory!r}, in which "
            f"{os.path.basename(path)} is of others than "
            f"shared={self.shared!r}. Choose another one."
        )

    def _path(self, *names):
        return os.path.join(self.directory, *names)

    def _say(self, text):
        if self.verbose and is_chief():
            print(text, flush=True)


def _mark(shared):
    """Hash that tells sweeps with other shared settings apart."""
    text = json.dumps(shared, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


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
