"""What is on the disk of a run; what it ends with is in `test_resume.py`."""

import dataclasses
import errno
import json
import os

import keras
import numpy as np
import pytest

from tests import dialogs
from tests.testing import same
from tests.training.resumed import epochs_done
from tests.training.resumed import fit
from tests.training.resumed import restore
from tests.training.resumed import save
from tfcap._io import load_arrays
from tfcap.decoding import Sample
from tfcap.layers import GumbelSoftmaxST
from tfcap.objectives import Pathwise
from tfcap.objectives import TeacherForcing
from tfcap.rewards import DialogScore
from tfcap.training import ExponentialTemperature
from tfcap.training import JointTraining
from tfcap.training import Learner
from tfcap.training.checkpoint import RunCheckpoint

NOISY = dataclasses.replace(dialogs.SETTINGS, dropout=0.5)


def perceptual(discriminator, **arguments):
    schedule = ExponentialTemperature(rate=0.2, minimum=0.1)
    channel = GumbelSoftmaxST(temperature=schedule)
    sample = Sample(channel, max_length=3, feedback="relaxed")
    score = DialogScore(discriminator, **arguments)
    return Pathwise(score, sample), sample


def one_objective():
    generator = dialogs.generator(settings=NOISY)
    discriminator = dialogs.discriminator(settings=NOISY)
    discriminator.trainable = False
    # The program loads it, however it is seeded.
    rng = np.random.default_rng(5)
    weights = discriminator.get_weights()
    discriminator.set_weights([rng.normal(size=w.shape) for w in weights])
    term, _ = perceptual(discriminator)
    model = JointTraining(
        generator,
        {"speaker": Learner(generator, term + 0.5 * TeacherForcing(), 1.0)},
    )
    rate = keras.optimizers.schedules.PolynomialDecay(0.01, 6, 0.001)
    model.compile(keras.optimizers.Adam(rate))
    return model, [generator], dialogs.batches(), []


def train(make, directory, epochs, seed=0, **options):
    keras.utils.set_random_seed(seed)
    model, networks, batches, callbacks = make()
    fit(model, batches, epochs, directory, callbacks, **options)
    return [w for network in networks for w in network.get_weights()]


class Dense(keras.Sequential):
    """A model that is fast to train."""

    def __init__(self, units=2, optimizer="adam"):
        super().__init__(
            [keras.Input((3,)), keras.layers.Dense(units, name="dense")]
        )
        self.compile(optimizer, loss="mse", run_eagerly=True)
        x = np.arange(6.0).reshape(2, 3).astype("float32")
        self.train_on_batch(x, np.ones((2, units)))


def values(model):
    return [np.array(v) for v in (*model.variables, *model.optimizer.variables)]


@pytest.fixture
def run(tmp_path):
    """A checkpoint of two epochs, its model, and its file."""
    checkpoint, model = RunCheckpoint(tmp_path), Dense()
    for epoch in (1, 2):
        checkpoint.save(model, epoch)
    return checkpoint, model, tmp_path / "checkpoint.npz"


def cut(path):
    path.write_bytes(path.read_bytes()[:400])


def test_weights_and_optimizer_come_back(tmp_path):
    model, other = Dense(), Dense()
    assert restore(other, tmp_path) == epochs_done(tmp_path) == 0
    RunCheckpoint(tmp_path).save(model, 4)
    assert restore(other, tmp_path) == 4
    same(values(other), values(model))
    assert os.listdir(tmp_path) == ["checkpoint.npz"]


def test_a_stop_between_two_renames_loses_nothing(run, tmp_path):
    checkpoint, _, _ = run
    os.replace(checkpoint.path, checkpoint.previous)
    assert restore(Dense(), tmp_path) == 2


@pytest.mark.parametrize("options", [{"units": 3}, {"optimizer": "sgd"}])
def test_the_checkpoint_of_another_model_is_refused(options, run, tmp_path):
    model = Dense(**options)
    before = model.get_weights()
    with pytest.raises(ValueError, match="checkpoint of this model.*Received"):
        restore(model, tmp_path)
    same(before, model.get_weights())


def test_half_precision_weights_come_back(tmp_path):
    dense = keras.layers.Dense
    model, other = (
        keras.Sequential([keras.Input((2,)), dense(2, dtype="bfloat16")])
        for _ in range(2)
    )
    RunCheckpoint(tmp_path).save(model, 1)
    assert restore(other, tmp_path) == 1
    for a, b in zip(model.variables, other.variables):
        same(*(np.asarray(x.value, "float32") for x in (a, b)))


def test_nothing_in_the_file_is_pickled(run):
    with np.load(run[2], allow_pickle=False) as file:
        about = json.loads(str(file["about"]))
        assert all(file[key].dtype != object for key in file.files)
    assert about["epoch"] == 2
    assert ["dense/kernel", [3, 2], "float32"] in about["variables"]


def test_wherever_a_file_is_cut_or_changed_the_one_before_is_used(
    run, tmp_path
):
    _, _, last = run
    data, whole = last.read_bytes(), load_arrays(last)
    spoiled = [data[:size] for size in range(0, len(data), 97)]
    for place in range(0, len(data), 61):
        spoiled.append(data[:place] + b"\xa5" * 3 + data[place + 3 :])
        spoiled.append(data[:place] + bytes(40) + data[place + 40 :])
    for content in spoiled:
        last.write_bytes(content)
        if epochs_done(tmp_path) != 1:
            # The date of a part, which nobody reads.
            np.testing.assert_equal(load_arrays(last), whole)


def test_one_that_is_spoiled_does_not_take_the_place_of_a_good_one(
    run, tmp_path
):
    checkpoint, model, last = run
    cut(last)
    checkpoint.find(model)
    assert checkpoint.about["epoch"] == 1
    checkpoint.save(model, 2)
    cut(last)
    assert restore(model, tmp_path) == 1


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    checkpoint, model = RunCheckpoint(tmp_path), Dense()
    checkpoint.save(model, 1)

    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    match = "must be on a disk with room.*checkpoint.next.npz.*Make room"
    with pytest.raises(OSError, match=match) as caught:
        checkpoint.save(model, 2)
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == ["checkpoint.npz"]
    assert epochs_done(tmp_path) == 1


def adapted(seed=0, pretrained=True):
    """A frozen network under a layer that learns, with an adapter in it."""
    keras.utils.set_random_seed(seed)
    base = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(256),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.1),
            keras.layers.Dense(64),
        ]
    )
    base.trainable = False
    base.layers[-1].trainable = True
    base.layers[-1].enable_lora(2)
    base.layers[-1].bias.trainable = False
    base.pretrained = pretrained
    model = keras.Sequential([base, keras.layers.Dense(1)])
    model.compile("adam", "mse", run_eagerly=True)
    x = np.ones((2, 64), "float32")
    model.train_on_batch(x, x[:, :1])
    return model


def test_a_checkpoint_holds_what_trains(tmp_path):
    model = adapted()
    save(model, 1, tmp_path)
    frozen = 4 * (64 * 256 + 256 + 2 * 256 + 256 * 64 + 64)
    size = os.path.getsize(tmp_path / "checkpoint.npz")
    assert size < 0.4 * frozen
    save(adapted(pretrained=False), 1, tmp_path / "all")
    every = os.path.getsize(tmp_path / "all" / "checkpoint.npz")
    assert every > size + frozen
    # The program has made the base again, and other adapters.
    again = adapted()
    for weight in again.trainable_variables:
        weight.assign(weight + 1.0)
    assert restore(again, tmp_path) == 1
    same(values(model), values(again))
    with pytest.raises(ValueError, match="kernel is frozen and had other val"):
        restore(adapted(seed=1), tmp_path)


def test_frozen_weights_that_something_has_changed_are_saved(tmp_path):
    model = adapted()
    checkpoint = RunCheckpoint(tmp_path)
    checkpoint.find(model)
    kernel = model.layers[0].layers[0].kernel
    kernel.assign(kernel + 1.0)
    checkpoint.save(model, 1)
    again = adapted()
    restore(again, tmp_path)
    same(values(model), values(again))
