"""TensorBoards to look at, and the logs that they show."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy as np

from tensorboard_plugin_tfcap.summary import Claim
from tensorboard_plugin_tfcap.summary import Sample
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tests.tensorboard_plugin_tfcap.comparison import present

ROOT = pathlib.Path(__file__).parents[3]
#: Points of a sweep over real photographs: an earlier record of Flickr8k, so
#: that what the tab shows does not change with the results.
SWEEP = pathlib.Path(__file__).with_name("sweep.jsonl")
MEASURED = (
    *("cider_d", "bleu_4", "rouge_l", "r@1", "r@5", "r@10", "mean_rank"),
)
MARKUP = '<img src=x onerror="window.hacked = true"><b>a dog</b>'
#: TensorBoard without TensorFlow, which takes long to load.
_MAIN = (
    "import sys; sys.modules['tensorflow'] = None; "
    "from tensorboard.main import run_main; run_main()"
)


def sweep_records():
    """Pairs of settings and result, of the points of a real sweep."""
    lines = map(json.loads, SWEEP.read_text().splitlines())
    found = [(line["settings"], line["result"]) for line in lines]
    return [(s, result) for s, result in found if "cider_d" in result]


def write_sweep(folder, steps=4, truth=True):
    """Writes a real sweep's points, with made-up ways to them and words.

    Args:
        truth: Boolean, whether they have metrics of truth, made up, too.
    """
    present(pathlib.Path(folder))
    for settings, result in sweep_records():
        _write_run(pathlib.Path(folder), settings, result, steps, truth)


def _write_run(folder, settings, result, steps, truth):
    params = {k: settings[k] for k in ("lambda", "rho") if k in settings}
    name = ",".join(f"{k}={v}" for k, v in params.items())
    place = folder / settings["method"] / f"{name},seed={settings['seed']}"
    seed = settings["seed"]
    with TradeoffWriter(place, settings["method"], params, seed) as writer:
        for step in range(1, steps + 1):
            share = np.sqrt(step / steps)
            numbers = {k: result[k] * share for k in MEASURED}
            if truth:
                numbers["truth_precision"] = 1 - result["r@10"] / 200
                numbers["truth_recall"] = result["r@10"] / 300 * share
            writer.point(step, numbers)
        writer.samples(steps, [_sample(i, settings) for i in range(12)])


def _sample(number, settings):
    caption = f"{MARKUP} {number} by {settings['method']}"
    last = {"start": len(caption) - 3, "end": len(caption)}
    tint = np.array([40 * (number % 6), 120, 255 - 20 * number], "uint8")
    return Sample(
        id=f"image {number}",
        caption=caption,
        claims=[Claim("<i>", False, **last), Claim("a dog", True)],
        missing=["a cat"],
        rank=number + 1,
        human=["a dog runs", "two dogs play"],
        human_rank=2.0,
        image=np.broadcast_to(tint, (24, 32, 3)),
        scores={"cider_d": 0.5},
    )


def write_one(folder, method="late", seed=0):
    """Writes a run of one point."""
    place = os.path.join(folder, f"{method}_{seed}")
    with TradeoffWriter(place, method, {"lambda": 0.1}, seed) as writer:
        writer.point(1, {"cider_d": 0.3, "r@10": 66.0})


@contextlib.contextmanager
def serve(logdir, *flags):
    """Runs TensorBoard.

    Yields:
        String, its address.
    """
    command = [sys.executable, "-c", _MAIN, "--logdir", str(logdir)]
    command += ["--port", "0", "--host", "127.0.0.1", *flags]
    log = tempfile.TemporaryFile("w+")
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT
    )
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def _address(process, log):
    for _ in range(600):
        log.seek(0)
        text = log.read()
        found = re.search(r"at (http://127\.0\.0\.1:\d+\S*)", text)
        if found:
            return found.group(1).rstrip("/")
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"TensorBoard did not start. It said: {text}")


def wait_for_runs(address, count):
    """Waits until TensorBoard has read so many runs of ours."""
    url = f"{address}/data/plugin/tfcap_tradeoff/state"
    for _ in range(600):
        with urllib.request.urlopen(url) as reply:
            if len(json.load(reply)["runs"]) >= count:
                return
        time.sleep(0.1)
    raise RuntimeError(f"TensorBoard did not find {count} runs.")
