"""Costs of steps: memory, and CPU time as sizes grow.

Each is measured in a process of its own, which is asked for by `--point`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

from paired import THREADS
from paired import measure


def main(contestants, names, small, growing=None):
    """Does what `--memory`, `--grow PICTURE` or `--point` ask for.

    Args:
        contestants: Function from names, and sizes by keyword, to steps by
            name.
        names: Contestants of whom `--memory` tells.
        small: Dict of the sizes beyond which it tells.
        growing: Arguments of `growth()`, or `None`, where nothing grows.

    Returns:
        Whether one of them was asked for.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--point", type=json.loads)
    parser.add_argument("--grow", metavar="PICTURE")
    options, _ = parser.parse_known_args()
    if wanted := options.point:
        steps = contestants(wanted["names"], **wanted["sizes"])
        print(json.dumps(costs(steps, wanted["memory"])))
    elif options.memory:
        print_memory(names, **small)
    elif options.grow and growing:
        draw(growth(*growing), options.grow)
    else:
        return False
    return True


def peak(step):
    """The most memory that this process has had after a few steps, in MB."""
    for _ in range(4):
        step()
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines["VmHWM"].split()[0]) / 1024


def costs(steps, memory):
    """Peaks of steps by name, in MB, or lists of CPU seconds."""
    steps = {name: step for name, step in steps.items() if step}
    if memory:
        return {name: peak(step) for name, step in steps.items()}
    return measure(steps, rounds=5)[1]


def in_a_process(names, memory=False, **sizes):
    """Costs of `--point` in a process of its own, of one thread for times."""
    wanted = {"names": names, "memory": memory, "sizes": sizes}
    command = [sys.executable, sys.argv[0], "--point", json.dumps(wanted)]
    threads = {} if memory else dict.fromkeys(THREADS, "1")
    run = subprocess.run(
        command,
        env={**os.environ, **threads},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(run.stdout.splitlines()[-1])


def print_memory(names, **small):
    """Prints the memory of steps beyond that of a small size, in MB.

    Between steps, frameworks keep for the next what they will not give back,
    and each has a size of its own: two processes tell what a batch needs.

    Args:
        names: Iterable of contestants.
        **small: The small sizes.
    """
    for name in names:
        whole = in_a_process([name], memory=True)
        least = in_a_process([name], memory=True, **small)
        for found, peaked in whole.items():
            print(f"{found:22} {peaked - least[found]:6.0f} MB", flush=True)


def growth(values_of, names_of):
    """CPU seconds of steps by what grows, its size and their names.

    Args:
        values_of: Dict of the values of every size.
        names_of: Dict of contestants by the size that grows; `None` for the
            other sizes.
    """
    told = {}
    for size, values in values_of.items():
        names = names_of.get(size, names_of[None])
        told[size] = {}
        for value in values:
            found = in_a_process(names, **{size: value})
            row = {n: statistics.median(x) for n, x in found.items()}
            told[size][value] = row
            line = "  ".join(f"{n} {1e3 * x:.0f} ms" for n, x in row.items())
            print(f"{size} {value}: {line}", flush=True)
    return told


def draw(told, path):
    """A panel of what each size costs."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(told), figsize=(4 * len(told), 3.5))
    colors = {}
    for panel, (size, rows) in zip(panels, told.items()):
        for name in next(iter(rows.values())):
            color = colors.setdefault(name, f"C{len(colors)}")
            costs = [1e3 * row[name] for row in rows.values()]
            panel.plot(list(rows), costs, "o-", color=color, label=name)
        panel.set(xlabel=size, ylim=(0, None))
        panel.legend(fontsize="small")
    panels[0].set_ylabel("CPU milliseconds of a step, one thread")
    figure.tight_layout()
    figure.savefig(path)
