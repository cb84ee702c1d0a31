"""The goals of speed on a CPU, beside what is reached: all in one run.

python -m venv VENV
VENV/bin/pip install torch pycocoevalcap trl transformers datasets peft \\
    accelerate
python benchmarks/peers.py --torch-python VENV/bin/python
python benchmarks/peers.py --torch-python VENV/bin/python --only SCST first

Training steps, `train_on_batch()` of the methods of `our_steps.py` against
PyTorch's of `torch_steps.py`, whose gradients are compared with ours first:
64 images of 2,048 features, captions of 16 words, a vocabulary of 9,488, an
LSTM of 512, a listener of 1,024, five references an image; G-DIS has the
dialogs of `tasks.py`. Random weights, so that all captions run to the end;
Adam on both sides. The reward of the peer is CIDEr-D by the loops of
self-critical training; "our CIDEr-D" is the same peer with `tfcap.text`'s.
Each is a process. They take turns, in an order that changes, with an untimed
step before a timed one. A ratio is the peer's time by ours, of CPU time on one
thread and of the clock on two: a geometric mean over rounds, with its 95 %
interval. "of the matrix rate" is the time that as many floating-point
operations take in large products, by that of the step.

`lm` is `causal_lm.py`, of words a CPU second on one thread, "memory" TRL's
peak by ours. `scores` is `all_scores.py`. `first` is the CPU time of a
method's first step with small networks, on one thread. The worst comes first.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import causal_lm
import lm_task

FOLDER = pathlib.Path(__file__).resolve().parent
#: What a step is to have of the peer's speed, in float32 and in bfloat16.
GOALS = {
    "SCST": (1.5, 1.0),
    "SLL": (2.0, None),
    "ST-Gumbel": (1.5, 1.0),
    "PSST": (1.5, 1.0),
    "XE": (1.1, 1.0),
    "G-DIS": (1.5, None),
}
LENGTHS = 16, 64, 128
FIRST = "mle scst sll_sle grpo psst straight_through"
FIRST = f"{FIRST} wtf_rl gdis".split()
#: Goals that are no ratios; of a method's first step in CPU seconds.
SHARE, FIRST_S, METEOR_S, SPICE = 0.7, 5.0, 3.0, 1000


@dataclasses.dataclass
class Row:
    """Result beside its goal; more is better, unless it is `at_most`."""

    item: str
    goal: float
    reached: float
    low: float | None = None
    high: float | None = None
    at_most: bool = False

    @property
    def share(self):
        """Part of the goal that is reached."""
        return (self.reached / self.goal) ** (-1 if self.at_most else 1)


def command(python, **wanted):
    """The command of a process that takes steps of a task."""
    return [python, str(FOLDER / "tasks.py"), json.dumps(wanted)]


def check(name, torch_python):
    """Compares the peer's gradients with ours; fails if they differ."""
    with tempfile.TemporaryDirectory() as folder:
        told = {"name": name, "check": os.path.join(folder, "ours.npz")}
        for python, library in (
            (sys.executable, "our_steps"),
            (torch_python, "torch_peers"),
        ):
            worker = causal_lm.Worker(
                command(python, library=library, **told), causal_lm.ONE_THREAD
            )
            worker.step(), worker.close()


def steps(name, options, kept):
    """Rows of a training step: both types, one thread and two."""
    check(name, options.torch_python)
    for dtype, goal in zip(("float32", "bfloat16"), GOALS[name]):
        for threads in (1, 2) if goal else ():
            yield from pair(name, dtype, goal, threads, options, kept)


def pair(name, dtype, goal, threads, options, kept):
    """Rows of a training step of a type on so many threads."""

    def ours(name):
        return command(
            sys.executable, library="our_steps", name=name, dtype=dtype
        )

    def peer(name, **more):
        return command(
            options.torch_python,
            library="torch_peers",
            name=name,
            dtype=dtype,
            **more,
        )

    limit = f"limit of {name}"
    commands = {"ours": ours(name), "limit": ours(limit), "PyTorch": peer(name)}
    if name in ("SCST", "SLL"):
        commands["PyTorch, our CIDEr-D"] = peer(name, loops=False)
    if name == "XE":
        commands["limit in PyTorch"] = peer(limit)
    environment = dict.fromkeys(causal_lm.THREADS, str(threads))
    if threads == 1:
        environment = causal_lm.ONE_THREAD
    costs = causal_lm.turns(commands, options.rounds, environment)
    kept[f"{name} {dtype} {threads}"] = costs
    clock = "cpu" if threads == 1 else "wall"
    told = f"{dtype}, {threads} thread{'s' * (threads > 1)}"
    for other in [n for n in costs if n.startswith("PyTorch")]:
        row = interval(costs["ours"][clock], costs[other][clock])
        yield Row(f"{name} by {other}, {told}", goal, *row)
    if dtype == "float32":
        row = interval(costs["ours"][clock], costs["limit"][clock])
        yield Row(f"{name} of the matrix rate, {told}", SHARE, *row)
    if name == "XE":
        other = costs["limit in PyTorch"][clock]
        row = interval(costs["limit"][clock], other)
        yield Row(f"matrix product by PyTorch, {told}", 1.0, *row)


def interval(ours, other):
    """The geometric mean of `other / ours`, with its 95 % interval."""
    from tfcap.curves import mean_interval

    logs = [math.log(x / y) for x, y in zip(other, ours)]
    return [math.exp(x) for x in mean_interval(logs)]


def language_model(options, kept):
    """Rows of a language model that learns from its words."""
    for length in LENGTHS:
        sizes = lm_task.Sizes(length=length)
        found = causal_lm.compared(sizes, options.torch_python, options.rounds)
        kept[f"lm {length}"] = found
        step, sampling = found["step"], found["sampling"]
        yield Row(f"GRPO by TRL, {length} words", 1.0, *step["cpu_ratio"])
        for key, told in ("peak", "memory"), ("grown", "memory of steps"):
            ratio = step["TRL"][key] / step["ours"][key]
            yield Row(f"GRPO by TRL, {length} words, {told}", 1.0, ratio)
        name = f"sampling by generate(), {length} words"
        yield Row(name, 1.0, *sampling["cpu_ratio"])


def scores(options, kept):
    """Rows of the evaluation of 5,000 captions."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "found.json")
        subprocess.run(
            [sys.executable, FOLDER / "all_scores.py", "--json", path],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with open(path) as file:
            kept["scores"] = found = json.load(file)
    seconds = found["ours, 5,000 captions"]["cpu_s"]
    yield Row(
        "METEOR and others, 5,000, CPU s", METEOR_S, seconds, at_most=True
    )
    if "parsed_per_cpu_s" in found:
        yield Row("SPICE, captions a CPU s", SPICE, found["parsed_per_cpu_s"])


def first_steps(options, kept):
    """Rows of CPU seconds of first steps."""
    for name in FIRST:
        run = command(
            sys.executable, library="our_steps", name=name, first=True
        )
        worker = causal_lm.Worker(run, causal_lm.ONE_THREAD)
        seconds = worker.step()["cpu"]
        worker.close()
        yield Row(
            f"first step of {name}, CPU s", FIRST_S, seconds, at_most=True
        )


def machine():
    """The processor, and what of it decides."""
    with open("/proc/cpuinfo") as file:
        facts = dict(
            [part.strip() for part in line.split(":", 1)]
            for line in file
            if ":" in line
        )
    units = {"amx_bf16", "avx512_bf16", "avx512f", "avx2"}
    return {
        "processor": facts["model name"],
        "extensions": sorted(units & {*facts["flags"].split()}),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
    }


def table(rows):
    """Rows as text."""
    lines = [("", "goal", "reached", "95 % interval", "")]
    for row in rows:
        spread = f"{row.low:.2f} to {row.high:.2f}" if row.low else ""
        goal = f"{'<= ' * row.at_most}{row.goal:g}"
        met = "" if row.share < 1 else "met"
        lines.append((row.item, goal, f"{row.reached:.2f}", spread, met))
    widths = [max(map(len, column)) for column in zip(*lines)]
    padded = [[x.ljust(w) for x, w in zip(line, widths)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in padded)


def main():
    parts = {name: steps for name in GOALS}
    others = {"lm": language_model, "scores": scores, "first": first_steps}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-python", help="interpreter that has PyTorch")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="+", choices=[*parts, *others])
    path = FOLDER.parent / "results" / "speed" / "cpu.json"
    parser.add_argument("--json", type=pathlib.Path, default=path)
    options = parser.parse_args()
    rows, kept = [], {"machine": machine()}
    print(kept["machine"], flush=True)
    for name in options.only or [*parts, *others]:
        given = (name, options, kept) if name in parts else (options, kept)
        for row in (parts | others)[name](*given):
            print(table([row]).splitlines()[1], flush=True)
            rows.append(row)
            rows.sort(key=lambda row: row.share)
            kept["rows"] = [dataclasses.asdict(row) for row in rows]
            options.json.write_text(json.dumps(kept) + "\n")
    print(f"\n{kept['machine']}\n{table(rows)}")


if __name__ == "__main__":
    main()
