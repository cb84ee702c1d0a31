"""Times contestants side by side, and reports ratios.

Milliseconds of two runs do not compare: machines are shared, warm up, and
throttle. So all contestants live in one process and take turns, in an order
that rotates; each is called once untimed right before it is timed; and what
is reported is the median, over rounds, of the ratio within a round. A second
process, of one thread, gives the ratio of CPU times.

A benchmark is a file with a function `contestants()`, which returns functions
without arguments by name, and with rows of its table:

    ROWS = [Row("sort", "ours", "NumPy", limit="one matmul", floor=2, goal=3)]

    if __name__ == "__main__":
        main(contestants, ROWS)

Import what computes inside of `contestants()`: threads are chosen before. A
call returns when its work is done. One that is `None` is absent.
"""

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "MKL_NUM_THREADS")
HEAD = "item peer limit ours quartiles 1-thread-CPU floor goal".split()


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of the table: how many times faster `ours` is than `peer`.

    `limit` does only what nobody can avoid; `floor` and `goal` are ratios. To
    bound ours by a multiple of some work, make that work the peer.
    """

    name: str
    ours: str
    peer: str
    limit: str | None = None
    floor: float | None = None
    goal: float | None = None


def measure(contestants, rounds=9, least=0.02):
    """Seconds of wall and of CPU per call: two dicts of one list a contestant.

    A call shorter than `least` seconds is repeated within its turn.
    """
    present = {n: call for n, call in contestants.items() if call is not None}
    repeats = {}
    for name, call in present.items():
        call()
        start = time.perf_counter()
        call()
        once = max(time.perf_counter() - start, 1e-6)
        repeats[name] = max(1, round(least / once))
    wall, cpu = ({name: [] for name in present} for _ in range(2))
    names = list(present)
    for i in range(rounds):
        first = i % len(names)
        for name in names[first:] + names[:first]:
            call, n = present[name], repeats[name]
            call()
            start = time.perf_counter(), cpu_seconds()
            for _ in range(n):
                call()
            wall[name].append((time.perf_counter() - start[0]) / n)
            cpu[name].append((cpu_seconds() - start[1]) / n)
    return wall, cpu


def cpu_seconds():
    """Of this process and of those that it has waited for."""
    return time.process_time() + sum(os.times()[2:4])


def ratio(seconds, ours, peer):
    """Quartiles of `peer / ours`, round by round: `(low, median, high)`."""
    ratios = [p / max(o, 1e-9) for p, o in zip(seconds[peer], seconds[ours])]
    if len(ratios) == 1:
        ratios *= 2
    return tuple(statistics.quantiles(ratios, n=4, method="inclusive"))


def results(rows, wall, one_thread):
    """A dict a row, with ratios where its contestants ran."""
    found = []
    for row in rows:
        result = dataclasses.asdict(row)
        if row.ours in wall and row.peer in wall:
            low, median, high = ratio(wall, row.ours, row.peer)
            result.update(ratio=median, low=low, high=high)
            result["cpu_ratio"] = ratio(one_thread, row.ours, row.peer)[1]
            if row.limit in wall:
                result["limit_ratio"] = ratio(wall, row.limit, row.peer)[1]
        found.append(result)
    return found


def table(found):
    """The results as text: speed-ups over the peer, the limit's among them."""
    lines = [[*HEAD, ""]]
    for r in found:
        ran, verdict = "ratio" in r, ""
        for word in ("floor", "goal"):
            if ran and r[word] is not None and r["ratio"] >= r[word]:
                verdict = f"{word} met"
        spread = f"{r['low']:.3g}..{r['high']:.3g}" if ran else ""
        ours = _times(r["ratio"]) if ran else "absent"
        line = [r["name"], r["peer"], _times(r.get("limit_ratio")), ours]
        line += [spread, _times(r.get("cpu_ratio"))]
        lines.append([*line, _times(r["floor"]), _times(r["goal"]), verdict])
    widths = [max(map(len, column)) for column in zip(*lines)]
    padded = [[c.ljust(w) for c, w in zip(line, widths)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in padded)


def main(contestants, rows):
    """Runs a benchmark, and once more on one thread, and prints its table.

    Args:
        contestants: Function that returns the contestants by name.
        rows: List of `Row`.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", help="file to write the results to")
    parser.add_argument("--cpu", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cpu:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    wall, found = measure(contestants(), options.rounds)
    if not options.cpu:
        # A few rounds will do.
        one_thread = _alone(max(3, options.rounds // 2))
        found = results(rows, wall, one_thread)
        print(table(found), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


def _alone(rounds):
    """CPU seconds of the contestants in a process of one thread."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "found.json")
        command = [sys.executable, sys.argv[0], "--cpu", "--json", path]
        command += ["--rounds", str(rounds)]
        environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
        subprocess.run(command, env=environment, check=True)
        with open(path) as file:
            return json.load(file)


def _times(value):
    return "" if value is None else f"{value:.3g}x"
