"""A process that takes part in a sweep, for test_sweep_processes.py.

    python sweep_process.py DIRECTORY HOW

It imports the sweep without the tensors of the package, to be there at once.
"""

import importlib
import os
import pathlib
import signal
import sys
import time
import types

GRID = {"method": ["psst", "st"], "lambda": [1e-3, 3e-3, 5e-3], "seed": [0, 1]}


def share(settings, folder):
    """A point that takes as long as the others need for theirs."""
    with open(os.path.join(folder, "runs"), "a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(0.05)
    return {"pid": os.getpid()}


def hang(settings, folder):
    """A point that is never done, once it has begun."""
    pathlib.Path(folder, "begun").touch()
    time.sleep(600)


def slow(settings, folder):
    """A point in which there is time to be stopped."""
    pathlib.Path(folder, "begun").touch()
    time.sleep(1.0)
    return {"pid": os.getpid()}


def fail(settings, folder):
    if settings["method"] == "st":
        raise RuntimeError("no more memory")
    return {"pid": os.getpid()}


def sweep_class():
    package = types.ModuleType("tfcap.training")
    sys.modules["tfcap.training"] = package
    # Without tensors, a process begins at once.
    package.is_chief = lambda: True
    package.from_chief = lambda value: value
    return importlib.import_module("reproduce.sweep").Sweep


if __name__ == "__main__":
    # Where tests run in the background, Ctrl-C is ignored from the start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    directory, how = sys.argv[1:]
    run = {"share": share, "hang": hang, "slow": slow, "fail": fail}[how]
    sweep = sweep_class()(directory, run, GRID, heartbeat=0.1, patience=60.0)
    start = pathlib.Path(directory, "start")
    print("ready", flush=True)
    while not start.exists():
        time.sleep(0.01)
    raise SystemExit(sweep.work())
