"""Processor time of TensorBoard while its Trade-off tab is open.

A log of many runs is polled every five seconds, as the page does: idle, and
while one of the runs writes a point each second. Printed are the CPU seconds
of TensorBoard and of its data server, as a share of a core, and how long the
answers took.

python benchmarks/tab_polling.py --runs 1000 --steps 50
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

from tensorboard_plugin_tfcap.summary import TradeoffWriter

#: TensorBoard without TensorFlow, which takes long to load.
MAIN = (
    "import sys; sys.modules['tensorflow'] = None; "
    "from tensorboard.main import run_main; run_main()"
)
POLL = 5.0
VIEWS = {
    "last": "seeds=points&value=auto&along=x",
    "best": "seeds=points&value=auto&along=x&at=best&by=cider_d",
    "scalars": "source=scalars&seeds=points&value=auto&at=best&by=cider_d",
}


def writer(folder, run):
    """A writer of one of ten methods, of ten seeds at ten lambdas."""
    method, seed, weight = run % 10, run // 10 % 10, 1 + run // 100
    place = os.path.join(folder, f"method_{method}/lambda={weight},seed={seed}")
    return TradeoffWriter(place, f"m{method}", {"lambda": weight}, seed)


def measured(run, step):
    """Metrics of a run at a step."""
    share = (step + 1) / (step + 9)
    cider = share * (1.2 - 0.0005 * run)
    recall = share * (60 + 0.02 * run)
    return {
        "cider_d": cider,
        "r@10": recall,
        "r@5": 0.8 * recall,
        "r@1": recall,
    }


@contextlib.contextmanager
def serving(folder):
    """TensorBoard on a log; yields its process and address."""
    command = [sys.executable, "-c", MAIN, "--logdir", folder, "--port", "0"]
    command += ["--host", "127.0.0.1", "--reload_interval", "5"]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            while True:
                log.seek(0)
                text = log.read()
                if match := re.search(r"at (http://127\.0\.0\.1:\d+)", text):
                    break
                if process.poll() is not None:
                    raise RuntimeError(f"TensorBoard did not start: {text}")
                time.sleep(0.2)
            yield process, f"{match[1]}/data/plugin/tfcap_tradeoff/"
        finally:
            process.terminate()
            process.wait(20)


def ask(address):
    with urllib.request.urlopen(address) as reply:
        return json.load(reply)


def cpu_seconds(pid):
    """CPU seconds of a process and of those that it started."""
    total = 0.0
    for one in [pid, *children(pid)]:
        with open(f"/proc/{one}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        total += sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return total


def children(pid):
    path = f"/proc/{pid}/task/{pid}/children"
    with open(path) as file:
        return [int(child) for child in file.read().split()]


def poll(process, address, view, seconds, growing=None):
    """Polls as the page does; returns the share of a core and answer times."""
    source = re.search("source=[a-z]*|$", view)[0]
    rev = ask(f"{address}state?{source}")["rev"]
    ask(f"{address}figure?{view}")
    before, start, times = cpu_seconds(process.pid), time.monotonic(), []
    step = 1000
    while time.monotonic() - start < seconds:
        due = time.monotonic() + POLL
        asked = time.monotonic()
        answer = ask(f"{address}state?{source}&rev={rev}")
        if not answer.get("unchanged"):
            rev = answer["rev"]
            ask(f"{address}figure?{view}")
        times.append(time.monotonic() - asked)
        while time.monotonic() < due:
            if growing is not None:
                step += 1
                growing.point(step, measured(3, 10))
            time.sleep(min(1.0, max(0.0, due - time.monotonic())))
    share = (cpu_seconds(process.pid) - before) / (time.monotonic() - start)
    return share, max(times)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--views", nargs="+", choices=VIEWS, default=[*VIEWS])
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        for run in range(options.runs):
            with writer(folder, run) as log:
                for step in range(options.steps):
                    log.point(step, measured(run, step))
        with serving(folder) as (process, address):
            while len(ask(f"{address}state")["runs"]) < options.runs:
                time.sleep(1)
            # What was read is settled after a reload or two.
            time.sleep(12)
            for name in options.views:
                view = VIEWS[name]
                for growing in (None, writer(folder, 3)):
                    share, longest = poll(
                        process, address, view, options.seconds, growing
                    )
                    kind = "idle" if growing is None else "growing"
                    print(
                        f"{name:8s} {kind:8s} {100 * share:5.1f} % of a core, "
                        f"slowest answer {longest:.2f} s",
                        flush=True,
                    )
                    if growing is not None:
                        growing.close()


if __name__ == "__main__":
    main()
