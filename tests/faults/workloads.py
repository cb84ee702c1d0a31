"""Small runs that write files, each of which may be stopped and done again.

Done again in a folder where it was stopped, a run must leave what one leaves
that nobody disturbed.
"""

import dataclasses
import io
import json
import os
import pathlib
from collections.abc import Callable
from unittest import mock

import keras
import numpy as np
from PIL import Image

from reproduce.record_file import append_record
from reproduce.record_file import read_records
from reproduce.sweep import Sweep
from reproduce.sweep_records import load_records
from tests.faults import kill_trials
from tests.faults import test_power_failure as power
from tests.faults.file_operations import mark
from tests.faults.readers import COCO
from tests.faults.readers import REPORT
from tests.faults.readers import RESULTS
from tests.faults.readers import VOCABULARY
from tests.training.resumed import fit
from tfcap import evaluate
from tfcap._io import passing_errors
from tfcap.data import Backbone
from tfcap.data import DatasetBatches
from tfcap.data import FeatureWriter
from tfcap.data import extract_features
from tfcap.data import load_features
from tfcap.data import load_neighbors
from tfcap.data import load_skipped
from tfcap.data import mapped_features
from tfcap.data import save_neighbors
from tfcap.data import standardize_features
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary
from tfcap.training import SpeakerReport
from tfcap.training.checkpoint import RunCheckpoint
from tfcap.training.network_file import load_network

#: Of training that is disturbed in the midst of an epoch, too.
STEPS = 3


@dataclasses.dataclass(frozen=True)
class Workload:
    """A run.

    Args:
        run: Function of a folder that does what is not done yet.
        look: Function of the folder that returns what must be the same, a
            dict.
        progress: Function of the folder that returns how much is done, as
            `run()` marks it; or None.
        prepare: Function of the folder that writes what the run reads.
        weight: Float, how often it is drawn.
    """

    run: Callable
    look: Callable = kill_trials.found
    progress: Callable | None = None
    prepare: Callable = lambda folder: None
    weight: float = 1.0


def patient(run):
    """A run in which errors of a disk that may pass are soon tried again."""

    def work(folder):
        os.environ["TFCAP_DISK_WAIT"] = "1"
        os.environ["TFCAP_CACHE"] = str(folder / "cache")
        keras.utils.set_random_seed(0)
        with mock.patch.object(passing_errors, "_FIRST", 0.01):
            run(folder)

    return work


# Writers of one file ---------------------------------------------------------


def write_files(folder):
    power.write_text(folder)
    mark(1)
    VOCABULARY.save(folder / "vocabulary.json")
    mark(2)
    frequencies().save(folder / "frequencies.npz")
    mark(3)
    save_neighbors(folder / "neighbors.npz", [7, 9, 4], [[1], [2], [1]])
    mark(4)
    REPORT.save(folder / "report.json")
    mark(5)


def frequencies():
    words = [[["a", "dog"], ["dog"]], [["a", "cat"]], [["a", "dog"]]]
    return DocumentFrequencies.from_references(words, VOCABULARY)


def read_files(folder):
    found = {"text": power.read_text(folder)}
    found["words"] = list(Vocabulary.load(folder / "vocabulary.json").words)
    table = DocumentFrequencies.load(folder / "frequencies.npz", VOCABULARY)
    found["frequencies"] = table.keys.tolist(), table.counts.tolist()
    neighbors = load_neighbors(folder / "neighbors.npz", [7, 9, 4])
    found["neighbors"] = neighbors.tolist()
    found["report"] = SpeakerReport.load(folder / "report.json").captions
    return found


def files_done(folder):
    """How many of the files are there; each is whole or absent."""
    paths = (
        *("far/away/a.txt", "vocabulary.json", "frequencies.npz"),
        *("neighbors.npz", "report.json"),
    )
    there = [(folder / path).exists() for path in paths]
    for path in folder.rglob("*"):
        assert (
            path.name.startswith(".")
            or not path.is_file()
            or any(str(path.relative_to(folder)) == name for name in paths)
        ), path
    return there.index(False) if False in there else len(there)


def write_records(folder):
    """Adds what is not there yet, as a sweep does."""
    path = folder / "points.jsonl"
    for number in range(4):
        if {"point": number} not in read_records(path):
            append_record(path, {"point": number})
        mark(number + 1)


def records_of(folder):
    found = read_records(folder / "points.jsonl")
    return {str(record): True for record in found} | {"count": len(found)}


def records_done(folder):
    return len(read_records(folder / "points.jsonl"))


# Features --------------------------------------------------------------------


def grids():
    return np.random.default_rng(0).normal(size=(12, 2, 3)).astype("float16")


def write_features(folder):
    path = folder / "x.h5"
    with FeatureWriter(path, range(12), (1, 2), 3) as writer:
        for row in writer.remaining:
            writer.write([row], grids()[row : row + 1])
    mark(12)
    with mock.patch.object(mapped_features, "LARGE", 1):
        features = load_features(path, lazy=True)
        (found,) = standardize_features(features)
    mark(13)
    wanted = grids().astype("float64")
    np.testing.assert_allclose(found.mean, wanted.mean((0, 1)), rtol=1e-4)


def features_of(folder):
    # Statistics are found anew where they could not be kept.
    return {"x": load_features(folder / "x.h5")}


def features_done(folder):
    if not (folder / "x.h5").exists():
        return 0
    with FeatureWriter(folder / "x.h5", range(12), (1, 2), 3) as writer:
        return 12 - len(writer.remaining) + (not len(writer.remaining))


def write_images(folder):
    """Small images, of which one is cut off."""
    for number in range(9):
        image = Image.fromarray(np.full((8, 8, 3), 20 * number, "uint8"))
        data = io.BytesIO()
        image.save(data, "PNG")
        content = data.getvalue()[: 30 if number == 4 else None]
        (folder / f"{number}.png").write_bytes(content)


def extraction(folder):
    paths = [str(folder / f"{number}.png") for number in range(9)]
    images = [(f"image {i}", path) for i, path in enumerate(paths)]

    def see(pixels):
        return np.asarray(pixels)[:, ::4, ::4] / 256.0

    backbone = Backbone("net", "top", (8, 8), "raw", see)
    extract_features(
        backbone,
        images,
        folder / "x.h5",
        4,
        progress=False,
        skip_unreadable=True,
    )
    skipped = load_skipped(folder / "x.h5")
    if [*skipped] != ["image 4"]:
        # Those that could not be opened this time, as was said.
        raise ValueError(f"{folder}: {skipped}")
    mark(1)


def extracted(folder):
    ids = [f"image {number}" for number in range(9) if number != 4]
    found = load_features(folder / "x.h5", ids)
    skipped = load_skipped(folder / "x.h5")
    return {"x": found, "skipped": np.array(sorted(skipped))}


# Scores ----------------------------------------------------------------------


def write_captions(folder):
    for name, content in (("said", RESULTS), ("people", COCO)):
        (folder / f"{name}.json").write_text(json.dumps(content))


def evaluation(folder):
    files = [str(folder / name) for name in ("said.json", "people.json")]
    out = str(folder / "scores.json")
    names = ["--metrics", "bleu,rouge_l,cider_d", "--quiet"]
    status = evaluate.main([*files, "--json", out, *names])
    if status:
        raise SystemExit(status)
    mark(1)


def world_of(folder):
    paths = folder.glob("cache/world_v1_*/deep/a.json")
    return {path.name: path.read_text() for path in paths}


def scores_done(folder):
    path = folder / "scores.json"
    return int(path.exists() and len(json.loads(path.read_text())) > 0)


# Training ---------------------------------------------------------------------


def batch(step):
    x = np.random.default_rng(step).normal(size=(4, 3)).astype("float32")
    return x, x[:, :2]


def network():
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(4),
            keras.layers.Dropout(0.5, seed=1),
            keras.layers.Dense(2),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), loss="mse", run_eagerly=True)
    return model


class Marks(keras.callbacks.Callback):
    """Marks the epochs before the one that begins."""

    def on_epoch_begin(self, epoch, logs=None):
        mark(epoch)


def training(folder):
    model = network()
    run = folder / "run"
    # As often as a long epoch is saved in its midst.
    batches = DatasetBatches(batch, STEPS)
    fit(model, batches, 3, run, [Marks()], verbose=0, save_every=1e-9)
    power.save_network(model, folder / "network.keras")
    mark(4)


def training_done(folder):
    if (folder / "network.keras").exists():
        assert load_network(folder / "network.keras").built
        return 4
    return RunCheckpoint(folder / "run").epoch


def study(folder):
    power.train(folder / "study")
    mark(power.EPOCHS + 1)


def study_done(folder):
    return power.done(folder / "study")


def trained(folder):
    """Weights, without what tells of how they came."""
    found = kill_trials.found(folder)
    return {k: v for k, v in found.items() if "checkpoint" not in k}


# Sweeps -----------------------------------------------------------------------


def sweep(folder):
    def run(settings, place):
        path = pathlib.Path(place) / "weights.npy"
        with power.whole_file(path) as file:
            np.save(file, np.full(3, settings["seed"]))
        return {"r@1": 0.5 * settings["seed"]}

    made = Sweep(folder, run, {"seed": [0, 1, 2]}, verbose=0)
    if made.work():
        # What is wrong with a point is written down, and told by its command.
        raise ValueError(made.failures()[0]["error"])
    mark(3)


def swept(folder):
    found = load_records(folder)
    paths = sorted(folder.rglob("weights.npy"))
    return {
        "points": np.array(sorted(map(str, found))),
        **{str(p.relative_to(folder)): np.load(p) for p in paths},
    }


def swept_done(folder):
    return records_done(folder)


WORKLOADS = {
    "files": Workload(write_files, read_files, files_done, weight=2),
    "records": Workload(write_records, records_of, records_done),
    "features": Workload(write_features, features_of, features_done, weight=2),
    "extraction": Workload(
        extraction, extracted, prepare=write_images, weight=2
    ),
    "evaluation": Workload(
        evaluation, progress=scores_done, prepare=write_captions
    ),
    "world": Workload(power.write_world, world_of, power.read_world),
    "networks": Workload(power.write_networks),
    "training": Workload(training, trained, training_done),
    "study": Workload(study, trained, study_done),
    "sweep": Workload(sweep, swept, swept_done, weight=2),
    "objective_model": Workload(kill_trials.objective_model, weight=0.05),
    "game": Workload(kill_trials.game, weight=0.05),
    "tradeoff_sweep": Workload(kill_trials.sweep, weight=0.05),
}
