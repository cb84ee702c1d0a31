"""After a power failure all is there that was reported as done.

At every moment of a run, in what `power.py` finds that the disk may hold.
"""

import json
import os
import pathlib

import keras
import numpy as np
import pytest

from reproduce.study import Study
from reproduce.sweep import Sweep
from reproduce.world.world import built_folder
from tests.faults.power import least_progress
from tests.training.resumed import epochs_done
from tfcap._io import make_folder
from tfcap._io import whole_file
from tfcap.data import DatasetBatches
from tfcap.data import load_features
from tfcap.data.features import FeatureWriter
from tfcap.training.network_file import load_network
from tfcap.training.network_file import save_network

EPOCHS = 3


def batch(step):
    x = np.arange(12.0, dtype="float32").reshape(4, 3)
    return x, x[:, :2]


def network():
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(2, kernel_initializer="ones")]
    )
    model.compile(keras.optimizers.SGD(0.01), loss="mse", run_eagerly=True)
    return model


def train(folder):
    study = Study(folder, {"settings": {}}, verbose=0)
    model = network()
    batches = DatasetBatches(batch, 1)
    study.fit("model", model, batches, EPOCHS, speaker=model)


def done(folder):
    """Number of epochs that a run needs not do again; one more at its end."""
    if (folder / "model" / "networks.json").exists():
        found = Study(folder, {"settings": {}}, verbose=0).load("model")
        assert found["speaker"].built
        return EPOCHS + 1
    return epochs_done(folder / "model" / "checkpoints")


def never_less(progress):
    assert all(a <= b for a, b in zip(progress, progress[1:])), progress
    return progress


def test_a_power_failure_leaves_a_network_or_its_checkpoint(tmp_path):
    found = least_progress(
        tmp_path,
        lambda root: train(root / "study"),
        lambda folder: done(folder / "study"),
    )
    assert set(never_less(found)) == set(range(EPOCHS + 2))


def test_a_power_failure_leaves_the_networks_of_a_recorded_point(tmp_path):
    def run(settings, folder):
        train(pathlib.Path(folder))
        return {"r@1": 1.0}

    def sweep(root):
        assert not Sweep(root / "sweep", run, {"seed": [0]}, verbose=0).work()

    def progress(folder):
        records = list(folder.glob("sweep/points/*/record.json"))
        found = max(map(done, folder.glob("sweep/points/*")), default=0)
        assert not records or found == EPOCHS + 1
        return found + len(records)

    found = least_progress(tmp_path, sweep, progress)
    assert set(never_less(found)) == set(range(EPOCHS + 3))


def test_checkpoints_of_a_kept_network_do_not_stay(tmp_path):
    train(tmp_path)
    checkpoints = tmp_path / "model" / "checkpoints"
    assert not checkpoints.exists()
    # The power has failed before they were removed.
    checkpoints.mkdir()
    (checkpoints / "checkpoint.npz").write_bytes(b"")
    Study(tmp_path, {"settings": {}}, verbose=0).once("model", None)
    assert not checkpoints.exists()


@pytest.mark.parametrize("synced, least", [(False, 0), (True, 4)])
def test_the_record_finds_what_is_not_synced(tmp_path, synced, least):
    def write(root):
        with open(root / "b", "w") as file:
            file.write("word")
            file.flush()
            if synced:
                os.fsync(file.fileno())
        os.replace(root / "b", root / "a")
        folder = os.open(root, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def size(root):
        return (root / "a").exists() and (root / "a").stat().st_size

    assert least_progress(tmp_path, write, size)[-1] == least


def write_text(root):
    make_folder(root / "far" / "away")
    with whole_file(root / "far" / "away" / "a.txt", "w") as file:
        file.write("words")


def read_text(root):
    path = root / "far" / "away" / "a.txt"
    return path.exists() and path.read_text() == "words"


def write_networks(root):
    for rate in (1.0, 2.0):
        model = network()
        model.set_weights([rate * weight for weight in model.get_weights()])
        save_network(model, root / "speaker.keras")


def read_network(root):
    path = root / "speaker.keras"
    if not path.exists():
        return 0
    return int(load_network(path).get_weights()[0][0, 0])


def world(root, write):
    sizes = {"train": 1, "val": 1, "test": 1}
    about = {"version": 1, "seed": 2, "sizes": sizes}
    return built_folder(root / "cache", "world", about, write, progress=False)


def write_world(root):
    def write(folder, about):
        (folder / "deep").mkdir()
        (folder / "deep" / "a.json").write_text("[1, 2]")

    world(root, write)


def read_world(root):
    def write(folder, about):
        raise FileNotFoundError

    try:
        path = world(root, write)
    except FileNotFoundError:
        return 0
    assert json.loads((path / "deep" / "a.json").read_text()) == [1, 2]
    return 1


def features():
    return np.arange(24.0).reshape(6, 2, 2) % 17 + 1


def write_features(root):
    with FeatureWriter(root / "x.npy", range(6), (2, 2)) as writer:
        for rows in ([0, 1, 2], [3, 4, 5]):
            writer.write(rows, features()[rows])
        writer.finish()


def read_features(root):
    with FeatureWriter(root / "x.npy", range(6), (2, 2)) as writer:
        left = writer.remaining
        if len(left):
            writer.write(left, features()[left])
        writer.finish()
    np.testing.assert_array_equal(load_features(root / "x.npy"), features())
    return 6 - len(left)


@pytest.mark.filterwarnings("ignore:.*is not whole and does not count")
@pytest.mark.parametrize(
    "write, read, stages",
    [
        (write_text, read_text, 1),
        (write_networks, read_network, 2),
        (write_world, read_world, 1),
        (write_features, read_features, 6),
    ],
)
def test_what_a_writer_has_returned_from_stays(write, read, stages, tmp_path):
    found = never_less(least_progress(tmp_path, write, read))
    assert found[0] == 0 and found[-1] == stages
