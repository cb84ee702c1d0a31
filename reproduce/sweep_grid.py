"""The settings of a sweep's points, in one form for all processes."""

import hashlib
import itertools
import json
import math
import re
from collections.abc import Mapping

import numpy as np


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

    >>> from reproduce.sweep_grid import expand_grid
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

    >>> from reproduce.sweep_grid import settings_key
    >>> settings_key({"seed": np.int64(0), "lambda": 1.0})
    '{"lambda":1,"seed":0}'
    """
    plain = plain_settings(settings)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def settings_name(settings: dict) -> str:
    """A name for files: readable, and of these settings alone.

    Example:

    >>> from reproduce.sweep_grid import settings_name
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
