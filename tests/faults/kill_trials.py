"""Kills runs at random moments, and compares how they end.

    python tests/faults/kill_trials.py --trials 20

Every trial is a run that is killed (SIGKILL, or SIGTERM) one to three times,
each time after a random part of what a whole run takes, and then let go on to
its end;
one that ended before it was killed once is none, and done again.
It must end as a run that nobody disturbed: in the same weights, bit for bit,
the same features, each point of a sweep done once. Exits with 1 if one does
not.

Processes are forked once everything is imported: what is killed is work.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import random
import sys
import tempfile
import zipfile

# One thread a process: two runs that add in another order differ.
for name in ("OMP", "TF_NUM_INTRAOP", "TF_NUM_INTEROP"):
    os.environ.setdefault(f"{name}_{'NUM_' * (name == 'OMP')}THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from reproduce.paper_sweep import paper_sweep  # noqa: E402
from reproduce.psst.paper import PSST  # noqa: E402
from tests.reproduce.psst import tiny_study  # noqa: E402
from tests.training import test_checkpoint  # noqa: E402
from tfcap._io.whole_file import whole_file  # noqa: E402
from tfcap.data import Backbone  # noqa: E402
from tfcap.data import extract_features  # noqa: E402
from tfcap.data import load_features  # noqa: E402

EPOCHS = 4
ABOUT = ("settings", "result")
IMAGES = 3000


def training(folder):
    tf.config.run_functions_eagerly(True)
    # As often as a long epoch is saved in its midst.
    weights = test_checkpoint.train(
        test_checkpoint.one_objective, folder / "run", EPOCHS, save_every=0.3
    )
    with whole_file(folder / "weights.npz") as file:
        np.savez(file, *weights)


def sweep(folder):
    """Two points: pretraining, joint training, evaluation, their logs."""
    tf.config.run_functions_eagerly(True)
    settings = tiny_study.dataclasses.replace(
        tiny_study.TINY, speaker_epochs=2, joint_epochs=2
    )
    rows = ["speaker_mle", "psst_multinomial"]
    about = folder, tiny_study.data(), settings, PSST.grid(rows, lambda_=[1e-3])
    made = paper_sweep(PSST, *about, verbose=0)
    if made.work():
        # Of a point that fails there is a record, and the next run tries it.
        raise ValueError(made.failures()[-1]["error"])


def extraction(folder):
    def see(pixels):
        return np.asarray(pixels)[:, ::4, ::4] / 256.0

    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (IMAGES, 8, 8, 3), "uint8")
    backbone = Backbone("net", "top", (8, 8), "raw", see)
    images = list(enumerate(pixels))
    extract_features(backbone, images, folder / "x.npy", 4, progress=False)


KINDS = {"training": training, "sweep": sweep, "extraction": extraction}


def found(folder):
    """What a run has left that must be the same again, by its name."""
    things = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.name == "checkpoint.previous.npz" or path.name[0] == ".":
            # Of another moment, where a run was stopped; half a file.
            continue
        if path.suffix == ".npz":
            with np.load(path) as file:
                # Their names count what a process has made before.
                keys = [key for key in file if key != "meta"]
                things |= {f"{name} {key}": file[key] for key in keys}
        elif path.suffix == ".keras":
            things |= {f"{name} {k}": v for k, v in weights(path).items()}
        elif path.suffix == ".npy":
            things[name] = load_features(path)
        elif path.name == "record.json":
            point = json.loads(path.read_text())
            things[name] = np.array([str(point[k]) for k in ABOUT])
        elif path.name in ("result.json", "captions.json"):
            text = path.read_text().replace(str(folder), "")
            things[name] = np.array(text)
    return things


def weights(path):
    """Arrays of a network that was saved, by their places."""
    arrays = {}

    def keep(name, node):
        if isinstance(node, h5py.Dataset):
            arrays[name] = np.asarray(node[()])

    # To load it would start threads, which no fork brings along.
    with zipfile.ZipFile(path) as archive:
        with archive.open("model.weights.h5") as inner:
            with h5py.File(inner) as file:
                file.visititems(keep)
    return arrays


def differences(one, other):
    """Names of what two runs have not left alike."""
    return sorted(one.keys() ^ other.keys()) + [
        name
        for name in one.keys() & other.keys()
        if one[name].shape != other[name].shape
        or one[name].tobytes() != other[name].tobytes()
    ]


def begin(kind, folder):
    """A process that does a run, or goes on with it."""

    def run():
        log = os.open(
            folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND
        )
        for stream in (1, 2):
            os.dup2(log, stream)
        keras.utils.set_random_seed(0)
        KINDS[kind](folder)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    return process


def finish(kind, folder):
    """Lets a run end. Returns the seconds of work it took."""
    process, seconds = begin(kind, folder), 0.0
    while process.is_alive():
        seconds = max(seconds, worked(process))
        process.join(0.02)
    if process.exitcode:
        print((folder / "log.txt").read_text()[-3000:])
        raise SystemExit(f"{kind}: a run ended with {process.exitcode}")
    return seconds


def worked(process):
    """Seconds of work of a process: of time, a busy machine has its share."""
    try:
        stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text()
    except FileNotFoundError:
        return 0.0
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def trial(kind, folder, seconds, random):
    """Kills a run a few times, then lets it end. Returns when it was killed."""
    moments = []
    for _ in range(random.randint(1, 3)):
        process, moment = begin(kind, folder), random.uniform(0, seconds)
        while process.is_alive() and worked(process) < moment:
            process.join(0.01)
        if process.is_alive():
            # A scheduler gives notice, which training heeds.
            end = random.choice([process.kill, process.terminate])
            end()
            moments.append((round(moment, 2), end.__name__))
        process.join()
    finish(kind, folder)
    return moments


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20, help="of each kind")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    wrong = 0
    for kind in options.kinds.split(","):
        with tempfile.TemporaryDirectory() as root:
            wrong += compare(kind, pathlib.Path(root), options)
    return int(wrong > 0)


def compare(kind, root, options):
    """Does the trials of one kind. Returns how many did not end alike."""
    whole = root / "whole"
    whole.mkdir()
    seconds = finish(kind, whole)
    expected = found(whole)
    assert expected, kind
    draw, wrong, kills = random.Random(f"{kind} {options.seed}"), 0, 0
    for number in range(options.trials):
        moments = []
        while not moments:
            folder = pathlib.Path(tempfile.mkdtemp(dir=root))
            moments = trial(kind, folder, seconds, draw)
        gaps = differences(expected, found(folder))
        wrong += bool(gaps)
        kills += len(moments)
        told = f"DIFFERS in {', '.join(gaps)}" if gaps else "the same"
        print(f"{kind} {number}: killed after {moments} s: {told}", flush=True)
    print(
        f"{kind}: {options.trials} trials of {seconds:.1f} s, {kills} kills, "
        f"{wrong} differ in {len(expected)} things",
        flush=True,
    )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
