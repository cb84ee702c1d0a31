"""Measures and draws all estimators: `python -m reproduce estimators`."""

import argparse
import functools
import json
import os
import re
import shlex
from dataclasses import replace

from reproduce.comparisons.estimators.axes import AXES
from tfcap._io import command
from tfcap._io import make_folder
from tfcap._io import read_json
from tfcap._io import whole_file


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    options = _parser().parse_args(arguments)
    path = os.path.join(options.out, "estimators.json")
    if options.draw:
        record = _read(path)
    else:
        record = _record(options, path)
        make_folder(options.out)
        words = _command(options)
        for _ in _measure(options, record):
            if words not in record["commands"]:
                record["commands"].append(words)
            with whole_file(path, "w") as file:
                file.write(_text(record))
    from reproduce.comparisons.estimators.figure import draw
    from reproduce.comparisons.estimators.page import table

    print(table(record))
    picture = os.path.join(options.out, "estimators.png")
    draw(record, picture)
    print(f"Written: {path}, {picture}")
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m reproduce estimators",
        description="Bias, variance and cost of every estimator's gradient "
        "against the exact one, of a speaker whose captions can all be listed. "
        "What the record has is not measured again.",
    )
    add = parser.add_argument
    add("--out", required=True, help="folder of the record and the figure")
    add("--seeds", type=int, default=20, help="speakers and listeners")
    add("--rows", type=int, default=1000, help="estimates of each")
    add(
        "--estimators",
        type=lambda text: text.split(";"),
        metavar="NAME;NAME",
        help="some of them (default: all)",
    )
    add(
        "--axes",
        type=lambda text: [x for x in text.split(",") if x],
        default=list(AXES),
        metavar="NAME,NAME",
        help=f"any of {', '.join(AXES)} (default: all)",
    )
    add("--no-costs", action="store_true", help="measure no time")
    add("--draw", action="store_true", help="draw what is recorded, again")
    return parser


def _measure(options, record):
    """Adds what is missing of the record, and yields after every estimator."""
    # TensorFlow takes a moment: not for `--help`.
    from reproduce.comparisons.estimators.costs import costs
    from reproduce.comparisons.estimators.costs import grown_costs
    from reproduce.comparisons.estimators.costs import missing_of
    from reproduce.comparisons.estimators.measure import exact_gradients
    from reproduce.comparisons.estimators.measure import measured
    from reproduce.comparisons.estimators.registry import Setting
    from reproduce.comparisons.estimators.registry import names
    from reproduce.comparisons.estimators.small_world import World

    chosen = names(options.estimators)
    world, setting = World(seeds=options.seeds), Setting()
    exact = functools.cache(exact_gradients)
    every = record["estimators"]
    for name in chosen:
        if name not in every:
            every[name] = measured(
                *(name, world, setting, options.rows, exact(world))
            )
            yield
    for axis in options.axes:
        lines = record["axes"].setdefault(axis, {})
        for name in AXES[axis].measured(chosen):
            line = lines.setdefault(name, [])
            before = len(line)
            for value in AXES[axis].values[len(line) :]:
                here, now = world, setting
                if AXES[axis].moved == "world":
                    here = replace(world, **{axis: value})
                else:
                    now = replace(setting, **{axis: value})
                found = measured(name, here, now, options.rows, exact(here))
                line.append({"value": value, **found})
            if len(line) > before:
                yield
    if options.no_costs:
        return
    missing = [name for name in chosen if name not in record["costs"]]
    if missing:
        first = next(iter(record["costs"]), missing[0])
        record["costs"].update(costs([first, *missing]))
        yield
    grown = record.setdefault("grown", {})
    missing = missing_of(grown, chosen)
    if missing:
        for size, lines in grown_costs(missing).items():
            grown.setdefault(size, {}).update(lines)
        yield


def _record(options, path):
    """Record of the same numbers as far as there is one, or an empty one."""
    unknown = sorted(set(options.axes) - set(AXES))
    if unknown:
        raise ValueError(
            f"`--axes` must be among {', '.join(AXES)}. Received: "
            f"{', '.join(unknown)}."
        )
    numbers = {"seeds": options.seeds, "rows": options.rows}
    if os.path.exists(path):
        record = _read(path)
        if {name: record[name] for name in numbers} != numbers:
            raise ValueError(
                f"`--out` must hold a record of the same numbers. Received: "
                f"{numbers}, and one of seeds={record['seeds']}, "
                f"rows={record['rows']}. Give another folder."
            )
        return record
    return {
        "commands": [],
        **numbers,
        "estimators": {},
        "axes": {},
        "costs": {},
    }


def _text(record):
    """JSON with a line for each list of numbers."""
    text = json.dumps(record, indent=1)
    lists = re.compile(r"\[([^][{}\"]*)\]")
    return lists.sub(lambda m: f"[{' '.join(m[1].split())}]", text) + "\n"


def _read(path):
    """A record; that of one command, as they once were, has a list of it."""
    record = read_json(path)
    first = [record.pop("command")] if "command" in record else []
    return {"commands": first, **record}


def _command(options):
    """The command, as it is written beside the numbers."""
    words = ["python", "-m", "reproduce", "estimators", "--out", options.out]
    words += ["--seeds", str(options.seeds), "--rows", str(options.rows)]
    if options.estimators:
        words += ["--estimators", ";".join(options.estimators)]
    if options.axes != list(AXES):
        words += ["--axes", ",".join(options.axes)]
    if options.no_costs:
        words.append("--no-costs")
    return shlex.join(words)
