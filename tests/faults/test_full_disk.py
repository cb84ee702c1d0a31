"""A full disk stops a run with a sentence; what was there is whole.

On a disk of a few hundred kilobytes, which only root can mount.
"""

import errno
import os
import subprocess
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

from reproduce.sweep import Sweep
from reproduce.sweep import load_records
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tests.training.resumed import epochs_done
from tests.training.resumed import fit
from tfcap.data import DatasetBatches
from tfcap.data import load_features
from tfcap.data.features import FeatureWriter
from tfcap.training.network_file import load_network
from tfcap.training.network_file import save_network

SIZE = 440_000


@pytest.fixture
def disk(tmp_path):
    """A small disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no `mount`")
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder, leave=0):
    """Leaves a number of bytes free."""
    path = folder / "filling"
    path.write_bytes(b"")
    with open(path, "ab", buffering=0) as file:
        for size in (4096, 512):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
        file.truncate(max(0, file.tell() - leave))


def refused(caught):
    assert caught.value.errno == errno.ENOSPC
    return "Make room" in str(caught.value)


def network():
    """A model of 30,000 weights."""
    model = keras.Sequential([keras.Input((100,)), keras.layers.Dense(300)])
    model.compile(keras.optimizers.SGD(0.1), loss="mse", run_eagerly=True)
    return model


def batch(step):
    return np.ones((2, 100), "float32"), np.ones((2, 300), "float32")


BATCHES = DatasetBatches(batch, 1)


def test_training_stops_and_its_last_checkpoint_is_whole(disk):
    model = network()
    # Without moments, a checkpoint has 120 kB: a third one has no room.
    with pytest.raises(OSError) as caught:
        fill(disk, leave=300_000)
        fit(model, BATCHES, 5, disk, verbose=0)
    assert refused(caught) and "checkpoint.next.npz" in str(caught.value)
    assert epochs_done(disk) == 2
    names = {path.name for path in disk.iterdir()} - {"filling"}
    assert names == {"checkpoint.npz", "checkpoint.previous.npz"}
    (disk / "filling").unlink()
    assert fit(model, BATCHES, 4, disk, verbose=0).epoch == [0, 1, 2, 3]


def test_features_that_have_no_room_are_kept_as_far_as_they_came(disk):
    features = np.ones((10, 4, 512)) * np.arange(10)[:, None, None]
    with pytest.raises(OSError) as caught:
        with FeatureWriter(disk / "x.npy", range(10), (4, 512)) as writer:
            writer.write([0, 1], features[:2])
            fill(disk)
            writer.write(np.arange(2, 10), features[2:])
    assert refused(caught) and "is done is kept" in str(caught.value)
    (disk / "filling").unlink()
    with FeatureWriter(disk / "x.npy", range(10), (4, 512)) as writer:
        assert {0, 1}.isdisjoint(writer.remaining)
        writer.write(writer.remaining, features[writer.remaining])
        writer.finish()
    np.testing.assert_array_equal(load_features(disk / "x.npy"), features)


def test_a_sweep_stops_rather_than_fail_point_by_point(disk):
    def run(settings, folder):
        if settings["seed"] == 1:
            fill(disk)
            with open(f"{folder}/more", "wb", buffering=0) as file:
                file.write(bytes(9000))
                file.write(bytes(9000))
        return {"r@1": 1.0}

    sweep = Sweep(disk, run, {"seed": [0, 1, 2]}, verbose=0)
    with pytest.raises(OSError) as caught:
        sweep.work()
    assert caught.value.errno == errno.ENOSPC
    assert not sweep.failures()
    assert load_records(disk) == [{"seed": 0, "r@1": 1.0}]


# Its thread may be the first to meet the full disk, and fails, too.
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)
def test_a_log_that_cannot_be_written_is_told(disk):
    before = {*threading.enumerate()}
    writer = TradeoffWriter(disk / "run", "mine")
    writer.point(0, {"cider_d": 1.0})
    (thread,) = {*threading.enumerate()} - before
    fill(disk)
    with pytest.raises(OSError) as caught:
        for step in range(1, 100):
            writer.point(step, {f"metric_{i}": 1.0 for i in range(100)})
    assert refused(caught)
    (disk / "filling").unlink()
    # What it raises later would be the next test's.
    thread.stop()


def test_logs_of_training_that_have_no_room_stop_it(disk, tmp_path):
    (disk / "logs").mkdir()
    board = keras.callbacks.TensorBoard(
        disk / "logs", histogram_freq=1, write_graph=False
    )
    fill(disk, leave=8192)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="disk/logs"):
        fit(network(), BATCHES, 30, tmp_path / "run", [board], verbose=0)
    assert epochs_done(tmp_path / "run") > 0


@pytest.mark.parametrize("room", [0, 40_000, 120_000])
def test_a_network_that_has_no_room_leaves_the_one_before(disk, room):
    model, path = network(), disk / "speaker.keras"
    save_network(model, path)
    kept = path.read_bytes()
    fill(disk, leave=room)
    with pytest.raises(OSError) as caught:
        save_network(model, path)
    assert refused(caught) and str(path) in str(caught.value)
    assert path.read_bytes() == kept and load_network(path).built
    assert sorted(os.listdir(disk)) == ["filling", "speaker.keras"]
