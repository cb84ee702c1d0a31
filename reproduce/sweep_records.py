"""Settings and results of a sweep's points, as its files hold them."""

import glob
import hashlib
import itertools
import json
import math
import os
import re
import warnings
from collections.abc import Mapping

import numpy as np

from tfcap._io import read_sealed
from tfcap._io import unsealed


def expand_grid(grid):
    """All points of a grid.

    Args:
        grid: Dict of settings by name, in which a list is an axis and anything
            else holds for all points; or a list of such dicts, for methods
            that have different settings. Values are strings, numbers, booleans
            or `None`.

    Returns:
        List of dicts. The last axis varies fastest. A point that several
        dicts give is there once.

    Raises:
        TypeError: If a name is not a string or a value none of the above.
        ValueError: If there is no point, or a number is not finite.

    Example:

    >>> from reproduce.sweep_records import expand_grid
    >>> expand_grid({"method": "psst", "lambda": [1e-3, 3e-3]})
    [{'method': 'psst', 'lambda': 0.001}, {'method': 'psst', 'lambda': 0.003}]
    """
    parts = [grid] if isinstance(grid, Mapping) else list(grid)
    points = {}
    for part in parts:
        if not isinstance(part, Mapping):
            raise TypeError(
                "`grid` must be a dict or a list of dicts. Received: "
                f"{part!r} in it."
            )
        axes = [_axis(value) for value in part.values()]
        for values in itertools.product(*axes):
            settings = dict(zip(part, values))
            points.setdefault(settings_key(settings), settings)
    if not points:
        raise ValueError(
            f"`grid` must have a point. Received: grid={grid!r}. Give every "
            "axis a value."
        )
    return list(points.values())


def settings_key(settings: dict | None) -> str:
    """Settings as one string, the same for all ways to write them.

    Example:

    >>> from reproduce.sweep_records import settings_key
    >>> settings_key({"seed": np.int64(0), "lambda": 1.0})
    '{"lambda":1,"seed":0}'
    """
    plain = plain_settings(settings)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def settings_name(settings: dict) -> str:
    """A name for files: readable, and of these settings alone.

    Example:

    >>> from reproduce.sweep_records import settings_name
    >>> settings_name({"method": "psst", "lambda": 1e-3})
    'method=psst,lambda=0.001-dab0a430'
    """
    key = settings_key(settings)
    plain = plain_settings(settings)
    words = ",".join(f"{name}={value}" for name, value in plain.items())
    words = re.sub(r"[^\w=,.+-]", "_", words, flags=re.ASCII)
    return f"{words[:100]}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def plain_settings(settings):
    """Settings as JSON holds them, numbers in one form."""
    return {_name(name): _plain(name, v) for name, v in settings.items()}


def _axis(value):
    if isinstance(value, np.ndarray):
        value = value.tolist()
    listed = isinstance(value, list | tuple | range | set | frozenset)
    return list(value) if listed else [value]


def _name(name):
    if not isinstance(name, str):
        raise TypeError(
            f"`grid` must name its settings by strings. Received: {name!r}."
        )
    return name


def _plain(name, value):
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if not isinstance(value, int | float):
        raise TypeError(
            "`grid` must hold strings, numbers, booleans or None. Received: "
            f"{name}={value!r}."
        )
    if not math.isfinite(value):
        raise ValueError(
            f"`grid` must hold finite numbers. Received: {name}={value!r}."
        )
    # Whole numbers beyond this one have no float of their own.
    whole = abs(value) < 2**53 and value == int(value)
    return int(value) if whole else value


#: The file of a point in its folder.
RECORD = "record.json"
#: Tells panels apart: recall by captions that are the same for all points.
PANEL = "human_strangers_r@10"
#: Machines may differ in the rank of a caption or two.
SAME_PANEL = 0.05


def load_records(directory):
    """Everything that a sweep has found so far.

    Returns:
        List of dicts, a point's settings and findings in one, in the order in
        which they were done. Of what was found twice of a point, the first.

    Raises:
        ValueError: If there is no record, or if points are of several data
            sets or panels of strangers.

    Example:

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> reproduce.sweep.Sweep(
    ...     folder, lambda settings, _: {"r@10": 55.0}, {"seed": 0}, verbose=0
    ... ).work()
    0
    >>> reproduce.sweep_records.load_records(folder)
    [{'seed': 0, 'r@10': 55.0}]
    """
    folder = str(directory)
    pattern = os.path.join(glob.escape(folder), "points", "*", RECORD)
    points = map(read_record, sorted(glob.glob(pattern)))
    points = sorted(points, key=lambda record: record.get("time", ""))
    lines = read_lines(os.path.join(folder, "points.jsonl"))
    records = merge_records([*lines, *points])
    if not records:
        raise ValueError(
            "`directory` must be of a sweep with a point. Received: "
            f"directory={folder!r}, without a record in points.jsonl or "
            f"points/*/{RECORD}. Run the sweep first."
        )
    _check_alike(directory, records.values())
    return [flat_record(record) for record in records.values()]


def _check_alike(directory, records):
    """Refuses points that are not to be compared seed by seed."""
    digests = {record.get("digest") for record in records} - {None}
    if len(digests) > 1:
        found = ", ".join(sorted(f"digest {digest[:8]}" for digest in digests))
        raise ValueError(
            "`directory` must be of a sweep on one data set. Received: "
            f"directory={str(directory)!r}, with points of {found}. Keep the "
            "points of one, and run the others again."
        )
    heard = sorted({r["result"].get(PANEL) for r in records} - {None})
    if heard and heard[-1] - heard[0] > SAME_PANEL:
        found = ", ".join(f"{PANEL} {recall:.3f}" for recall in heard)
        raise ValueError(
            "`directory` must be of a sweep heard by one panel of strangers. "
            f"Received: directory={str(directory)!r}, with points of {found}. "
            "Run those of the other panel again, into an empty folder."
        )


def read_record(path) -> dict:
    """The record of a point, from its folder."""
    record = read_sealed(path, "Move it elsewhere: the point is done again.")
    return _checked(record, path)


def read_lines(path) -> list[dict]:
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
        f"{record!r:.200}. Move it to another file: the point is done again."
    )


def merge_records(records):
    """Records by their point's key.

    A later record of a point adds what the earlier ones have not found; what
    they have stands.
    """
    merged = {}
    for record in records:
        key = settings_key(record["settings"])
        before = merged.get(key, {"result": {}})
        result = {**record["result"], **before["result"]}
        merged[key] = {**record, **before, "result": result}
    return merged


def flat_record(record):
    """A line of `points.jsonl` as one dict of settings and findings."""
    return {**record["settings"], **record["result"]}


def plain_result(result, settings):
    """A run's findings as JSON holds them; refuses what it cannot hold."""
    if not isinstance(result, dict):
        raise TypeError(
            "`run` must return a dict of what was found. Received: "
            f"{type(result).__name__}."
        )
    wrong = [k for k in settings if k in result and result[k] != settings[k]]
    if wrong:
        raise ValueError(
            "`run` must not find a setting to be another. Received: "
            f"{wrong[0]}={result[wrong[0]]!r} for a point with "
            f"{wrong[0]}={settings[wrong[0]]!r}. Give it another name."
        )
    return json.loads(json.dumps(_finite(result), allow_nan=False))


def _finite(value):
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _finite(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(x) for x in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
