"""Measures and draws all estimators: `python -m reproduce estimators`."""

import argparse
import functools
import json
import os
import re
from dataclasses import fields
from dataclasses import replace

from tfcap._io import command
from tfcap._io import make_folder
from tfcap._io import read_json
from tfcap._io import whole_file


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce estimators",
        description="Bias, variance and cost of every estimator's gradient "
        "against the exact one, of a speaker whose captions can all be listed. "
        "Estimators that are in the record are not measured again.",
    )
    add = parser.add_argument
    add("--out", required=True, help="folder of the record and the figure")
    add("--seeds", type=int, default=20, help="pairs of speaker and listener")
    add("--rows", type=int, default=1000, help="estimates per speaker")
    options = parser.parse_args(arguments)
    path = os.path.join(options.out, "estimators.json")
    record = _record(path, {"seeds": options.seeds, "rows": options.rows})
    make_folder(options.out)
    for _ in _measure(record):
        with whole_file(path, "w") as file:
            file.write(_text(record))
    from reproduce.comparisons.estimators.figure import draw
    from reproduce.comparisons.estimators.page import tables

    print(tables(record)["Bias and deviation"])
    picture = os.path.join(options.out, "estimators.png")
    draw(record, picture)
    print(f"Written: {path}, {picture}")
    return 0


def _measure(record):
    """Adds missing estimators to the record, and yields after each."""
    # TensorFlow takes a moment: not for `--help`.
    from reproduce.comparisons.estimators import registry
    from reproduce.comparisons.estimators.costs import add_costs
    from reproduce.comparisons.estimators.measure import exact_gradients
    from reproduce.comparisons.estimators.measure import measured
    from reproduce.comparisons.estimators.small_world import World

    exact = functools.cache(exact_gradients)
    of_world = {field.name for field in fields(World)}
    setting = registry.Setting()

    def found(name, **moved):
        world = World(seeds=record["seeds"])
        if of_world & moved.keys():
            world, moved = replace(world, **moved), {}
        now = replace(setting, **moved)
        return measured(name, world, now, record["rows"], exact(world))

    every = record["estimators"]
    for name in registry.ESTIMATORS:
        if name not in every:
            every[name] = found(name)
            yield
    for axis in registry.AXES:
        lines = record["axes"].setdefault(axis, {})
        for name in registry.measured_along(axis):
            line = lines.setdefault(name, [])
            missing = registry.AXES[axis].values[len(line) :]
            for value in missing:
                line.append({"value": value, **found(name, **{axis: value})})
            if missing:
                yield
    if add_costs(record):
        yield


def _record(path, numbers):
    """The record with the same options, or an empty one."""
    if not os.path.exists(path):
        return {**numbers, "estimators": {}, "axes": {}, "costs": {}}
    record = read_json(path)
    kept = {name: record[name] for name in numbers}
    if kept != numbers:
        raise ValueError(
            f"`--out` must hold a record with the same options. Received: "
            f"{numbers}, and a record with {kept}. Use another folder."
        )
    return record


def _text(record):
    """JSON with a line for each list of numbers."""
    text = json.dumps(record, indent=1)
    lists = re.compile(r"\[([^][{}\"]*)\]")
    return lists.sub(lambda m: f"[{' '.join(m[1].split())}]", text) + "\n"
