"""Draws trials of everything that may go wrong, until time is up.

    PYTHONPATH=. python tests/faults/campaign.py --minutes 60 --seed 1 --out DIR

Runs are killed at a counted operation on a file (`kill`), single operations
fail (`fail`), the power fails (`power`); images (`image`) and other files of
strangers (`odd`) are read in bounded memory and time, and data of any size is
written, read and scored (`size`). Every trial is a line of DIR/trials.jsonl
as soon as it has ended; begun again with the same seed and folder, it goes on
with the next one. What is wrong is told and kept, and the rest is tried. In
the end it prints how much was tried and found of each kind, and exits with 1
if something was found.

With `--only 123` it does a trial once more and prints what it finds.

Linux with a C compiler. Processes are forked once everything is imported.
"""

import argparse
import collections
import contextlib
import json
import pathlib
import random
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from tests.faults import file_operations  # noqa: E402

if __name__ == "__main__":
    file_operations.preloaded()

from tests.faults import disturbed_runs  # noqa: E402
from tests.faults import strange_images  # noqa: E402
from tests.faults import strange_nodes  # noqa: E402
from tests.faults import strange_sizes  # noqa: E402

#: Functions of a `random.Random` and an empty folder that return what was
#: tried, a dict, and what is wrong, a string or nothing.
KINDS = {
    "kill": disturbed_runs.kill,
    "fail": disturbed_runs.fail,
    "power": disturbed_runs.power_cut,
    "image": strange_images.trial,
    "odd": strange_nodes.trial,
    "size": strange_sizes.trial,
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--trials", type=int, help="at most so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--runs", help="of the kinds that disturb runs")
    parser.add_argument("--only", type=int, help="number of a trial")
    options = parser.parse_args(arguments)
    kinds = options.kinds.split(",")
    if set(kinds) - set(KINDS):
        parser.error(f"--kinds must be of {', '.join(KINDS)}")
    if options.runs:
        disturbed_runs.only(options.runs.split(","))
    options.out.mkdir(parents=True, exist_ok=True)
    if options.only is not None:
        print(json.dumps(draw(options.seed, options.only, kinds), indent=1))
        return 0
    log = options.out / "trials.jsonl"
    trials = read(log, options.seed)
    end = time.monotonic() + 60 * options.minutes
    number = max((trial["number"] + 1 for trial in trials), default=0)
    last = float("inf") if options.trials is None else number + options.trials
    while time.monotonic() < end and number < last:
        trial = draw(options.seed, number, kinds)
        trials.append(trial)
        with open(log, "a") as file:
            file.write(json.dumps(trial) + "\n")
        if trial["found"]:
            print(f"{number} {trial['kind']}: {trial['found'][:600]}\n")
            sys.stdout.flush()
        number += 1
    print(table(trials))
    return int(any(trial["found"] for trial in trials))


def draw(seed, number, kinds):
    """Does one trial, which follows from a seed and its number."""
    rng = random.Random(f"{seed} {number}")
    kind = kinds[number % len(kinds)]
    began = time.perf_counter()
    tried, found = {}, ""
    with tempfile.TemporaryDirectory(
        prefix="tfcap_", ignore_cleanup_errors=True
    ) as folder:
        place = pathlib.Path(folder).resolve() / "trial"
        place.mkdir()
        try:
            tried, found = KINDS[kind](rng, place)
        except Exception:
            found = f"the trial failed: {traceback.format_exc()}"
    return {
        **{"number": number, "seed": seed, "kind": kind, "tried": tried},
        "seconds": round(time.perf_counter() - began, 2),
        "found": found.replace(folder, "..."),
    }


def read(log, seed):
    """Trials that a run before has done."""
    trials = []
    if log.exists():
        for line in log.read_text().splitlines():
            with contextlib.suppress(ValueError):
                trials.append(json.loads(line))
    return [trial for trial in trials if trial["seed"] == seed]


def table(trials):
    """Lines that say how much was tried and found."""
    rows = collections.defaultdict(list)
    for trial in trials:
        rows[trial["kind"], trial["tried"].get("what", "?")].append(trial)
    lines = ["kind   what                     trials  parts  seconds  found"]
    for (kind, what), some in sorted(rows.items()):
        parts = sum(trial["tried"].get("parts", 1) for trial in some)
        seconds = sum(trial["seconds"] for trial in some)
        wrong = sum(bool(trial["found"]) for trial in some)
        lines.append(
            f"{kind:<6} {what:<24} {len(some):>6} {parts:>6} {seconds:>8.0f} "
            f"{wrong:>6}"
        )
    wrong = sum(bool(trial["found"]) for trial in trials)
    parts = sum(trial["tried"].get("parts", 1) for trial in trials)
    seconds = sum(trial["seconds"] for trial in trials)
    lines.append(
        f"all    {'':<24} {len(trials):>6} {parts:>6} {seconds:>8.0f} "
        f"{wrong:>6}"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
