"""After a power failure all is there that was reported as done.

At every moment of a run, in what `power.py` finds that the disk may hold; and
on a disk whose image is copied in the midst of a run, where root may mount one.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest

from reproduce.study import Study
from reproduce.sweep import Sweep
from reproduce.world.world import built_folder
from tests.faults.power import Power
from tests.faults.power import least_progress
from tests.training.resumed import epochs_done
from tests.training.resumed import save
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
    root = tmp_path / "run"
    root.mkdir()
    with Power(root).recorded() as power:
        train(root / "study")
    found = least_progress(
        power, tmp_path / "left", lambda folder: done(folder / "study")
    )
    assert set(never_less(found)) == set(range(EPOCHS + 2))


def test_a_power_failure_leaves_the_networks_of_a_recorded_point(tmp_path):
    def run(settings, folder):
        train(pathlib.Path(folder))
        return {"r@1": 1.0}

    def progress(folder):
        records = list(folder.glob("sweep/points/*/record.json"))
        found = max(map(done, folder.glob("sweep/points/*")), default=0)
        assert not records or found == EPOCHS + 1
        return found + len(records)

    root = tmp_path / "run"
    root.mkdir()
    with Power(root).recorded() as power:
        assert not Sweep(root / "sweep", run, {"seed": [0]}, verbose=0).work()
    found = least_progress(power, tmp_path / "left", progress)
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


def test_the_record_finds_what_is_not_synced(tmp_path):
    root = tmp_path / "run"
    root.mkdir()

    def size(folder):
        return (folder / "a").exists() and (folder / "a").stat().st_size

    for synced, least in ((False, 0), (True, 4)):
        with Power(root).recorded() as power:
            with open(root / "b", "w") as file:
                file.write("word")
                file.flush()
                if synced:
                    os.fsync(file.fileno())
            os.replace(root / "b", root / "a")
            folder = os.open(root, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        left = tmp_path / str(synced)
        assert least_progress(power, left, size)[-1] == least


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


def about():
    return {"version": 1, "seed": 2, "sizes": {"train": 1, "val": 1, "test": 1}}


def write_world(root):
    def write(folder, about):
        (folder / "deep").mkdir()
        (folder / "deep" / "a.json").write_text("[1, 2]")

    built_folder(root / "cache", "world", about(), write, progress=False)


def read_world(root):
    def write(folder, about):
        raise FileNotFoundError

    with contextlib.suppress(FileNotFoundError):
        path = built_folder(
            root / "cache", "world", about(), write, progress=False
        )
        assert json.loads((path / "deep" / "a.json").read_text()) == [1, 2]
        return 1
    return 0


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
    root = tmp_path / "run"
    root.mkdir()
    with Power(root).recorded() as power:
        write(root)
    found = never_less(least_progress(power, tmp_path / "left", read))
    assert found[0] == 0 and found[-1] == stages


@pytest.fixture
def image(tmp_path):
    """File that holds a small disk, the folder where it is, and a mount."""
    path = tmp_path / "disk.img"
    folders = []

    def mount(path, folder):
        folder.mkdir()
        order = ["mount", "-o", "loop", path, folder]
        made = subprocess.run(order, capture_output=True, text=True)
        if made.returncode:
            pytest.skip(f"no disk can be mounted here: {made.stderr.strip()}")
        folders.append(folder)
        return folder

    if sys.platform != "linux" or os.geteuid():
        pytest.skip("only root may mount a disk")
    if not (shutil.which("mkfs.ext4") and shutil.which("mount")):
        pytest.skip("there is no `mkfs.ext4` or no `mount`")
    with open(path, "wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", path], check=True)
    yield path, mount
    for folder in reversed(folders):
        subprocess.run(["umount", folder], check=True)


def test_a_disk_that_loses_its_power_keeps_the_network(image, tmp_path):
    path, mount = image
    train(mount(path, tmp_path / "disk") / "study")
    # What the kernel has not written yet is not in the copy.
    shutil.copyfile(path, tmp_path / "copy.img")
    left = mount(tmp_path / "copy.img", tmp_path / "left")
    assert done(left / "study") == EPOCHS + 1


def test_a_disk_that_loses_its_power_in_an_epoch_keeps_the_one_before(
    image, tmp_path
):
    path, mount = image
    folder = mount(path, tmp_path / "disk")
    model = network()
    for epoch in (1, 2):
        save(model, epoch, folder / "checkpoints")
    (folder / "checkpoints" / "checkpoint.next.npz").write_bytes(bytes(100))
    shutil.copyfile(path, tmp_path / "copy.img")
    left = mount(tmp_path / "copy.img", tmp_path / "left")
    assert epochs_done(left / "checkpoints") == 2
