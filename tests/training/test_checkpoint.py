import dataclasses
import errno
import json
import os

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import dialogs
from tests.data.tiny_captions import FEATURES
from tests.data.tiny_captions import tiny_captions
from tests.training.resumed import epochs_done
from tests.training.resumed import fit
from tests.training.resumed import restore
from tests.training.resumed import save
from tfcap._io import load_arrays
from tfcap.data import CaptionBatches
from tfcap.decoding import Sample
from tfcap.decoding import ScheduledSampling
from tfcap.layers import GumbelSoftmaxST
from tfcap.models import ShowTellSpeaker
from tfcap.objectives import Pathwise
from tfcap.objectives import TeacherForcing
from tfcap.objectives.discriminator_loss import rank_with_fakes
from tfcap.objectives.score_function import SupervisedLoss
from tfcap.rewards import DialogScore
from tfcap.training import ExponentialTemperature
from tfcap.training import JointTraining
from tfcap.training import Learner
from tfcap.training.checkpoint import RunCheckpoint

NOISY = dataclasses.replace(dialogs.SETTINGS, dropout=0.5)
EPOCHS = 2


def perceptual(discriminator, **arguments):
    schedule = ExponentialTemperature(rate=0.2, minimum=0.1)
    channel = GumbelSoftmaxST(temperature=schedule)
    sample = Sample(channel, max_length=3, feedback="relaxed")
    score = DialogScore(discriminator, **arguments)
    return Pathwise(score, sample), sample


def in_a_graph():
    # Draws words, drops out, anneals and scales its loss, and traces fast.
    decoder = ScheduledSampling(lambda step: 0.1 * step, seed=1)
    captions = CaptionBatches(tiny_captions(), FEATURES, 5, seed=2)
    speaker = ShowTellSpeaker(
        captions.captions.vocabulary.size, units=4, dropout=0.5
    )
    speaker(captions.inputs(np.arange(1)))
    model = JointTraining(speaker, TeacherForcing(decoder=decoder))
    # Its scale grows in this run.
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.Adam(0.01), initial_scale=8.0, dynamic_growth_steps=2
    )
    model.compile(optimizer)
    return model, [speaker], captions, []


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


def taking_turns():
    generator = dialogs.generator(settings=NOISY)
    discriminator = dialogs.discriminator(settings=NOISY)
    term, sample = perceptual(discriminator)
    fakes = SupervisedLoss(
        rank_with_fakes(discriminator, sample), "n", (sample,)
    )
    learners = {
        # An epoch has two steps: whose turn it is must be remembered.
        "g": Learner(generator, term, 1.0, every=3),
        "d": Learner(discriminator, fakes),
    }
    model = JointTraining(generator, learners)
    rates = {"g": 0.01, "d": 0.02}
    model.compile({k: keras.optimizers.Adam(r) for k, r in rates.items()})
    batches = dialogs.batches(negatives=3)
    return model, [generator, discriminator], batches, []


def train(make, directory, epochs, seed=0, **options):
    keras.utils.set_random_seed(seed)
    model, networks, batches, callbacks = make()
    fit(model, batches, epochs, directory, callbacks, verbose=0, **options)
    return [w for network in networks for w in network.get_weights()]


@pytest.fixture
def eager_dialogs(request):
    # Their graphs take half a minute to build, and three runs build them.
    graph = request.getfixturevalue("make") is in_a_graph
    tf.config.run_functions_eagerly(not graph)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.mark.slow
@pytest.mark.usefixtures("eager_dialogs")
@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
# Others are stopped in an epoch, or trained by methods, where these are tested.
@pytest.mark.parametrize("make", [in_a_graph, one_objective])
def test_a_run_that_was_stopped_ends_as_one_that_was_not(make, tmp_path):
    whole = train(make, tmp_path / "whole", EPOCHS)
    first = train(make, tmp_path / "parts", 1)
    # A new object, with other weights and seeds of its own.
    rest = train(make, tmp_path / "parts", EPOCHS, seed=99)
    assert any((a != b).any() for a, b in zip(first, whole))
    for a, b in zip(whole, rest):
        np.testing.assert_array_equal(a, b)


class Dense(keras.Sequential):
    """A model that is fast to train."""

    def __init__(self, units=2, optimizer="adam"):
        super().__init__(
            [keras.Input((3,)), keras.layers.Dense(units, name="dense")]
        )
        self.compile(optimizer, loss="mse")
        x = np.arange(6.0).reshape(2, 3).astype("float32")
        self.train_on_batch(x, np.ones((2, units)))


def same(one, other):
    for a, b in zip(one.get_weights(), other.get_weights()):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(one.optimizer.variables, other.optimizer.variables):
        np.testing.assert_array_equal(a, b)


def test_weights_and_optimizer_come_back(tmp_path):
    model, other = Dense(), Dense()
    checkpoint = RunCheckpoint(tmp_path)
    assert restore(other, tmp_path) == epochs_done(tmp_path) == 0
    checkpoint.save(model, 4)
    assert restore(other, tmp_path) == 4
    same(model, other)
    assert not [name for name in os.listdir(tmp_path) if "partial" in name]


def spoil(path, how):
    data = path.read_bytes()
    spoiled = {
        "cut": data[: len(data) // 2],
        "empty": b"",
        "text": b"not an archive",
        "flipped": data[:400]
        + bytes(255 - b for b in data[400:500])
        + data[500:],
    }[how]
    path.write_bytes(spoiled)


@pytest.mark.parametrize("how", ["cut", "empty", "text", "flipped"])
def test_the_one_before_is_used_if_the_last_is_spoiled(how, tmp_path, capsys):
    checkpoint, model = RunCheckpoint(tmp_path), Dense()
    checkpoint.save(model, 1)
    kept = model.get_weights()
    model.set_weights([2 * w for w in kept])
    checkpoint.save(model, 2)
    spoil(tmp_path / "checkpoint.npz", how)
    again = Dense()
    assert restore(again, tmp_path) == 1
    for a, b in zip(kept, again.get_weights()):
        np.testing.assert_array_equal(a, b)
    said = capsys.readouterr().out
    assert "checkpoint.npz cannot be used" in said and "one before" in said


def test_nothing_is_begun_anew_where_all_is_spoiled(tmp_path):
    checkpoint, model = RunCheckpoint(tmp_path), Dense()
    for epoch in (1, 2):
        checkpoint.save(model, epoch)
    for name in ("checkpoint.npz", "checkpoint.previous.npz"):
        spoil(tmp_path / name, "cut")
    with pytest.raises(ValueError, match="No checkpoint .* can be used"):
        restore(model, tmp_path)


def test_a_stop_between_two_renames_loses_nothing(tmp_path):
    checkpoint, model = RunCheckpoint(tmp_path), Dense()
    checkpoint.save(model, 3)
    os.replace(checkpoint.path, checkpoint.previous)
    assert restore(Dense(), tmp_path) == 3


@pytest.mark.parametrize(
    "other", [lambda: Dense(units=3), lambda: Dense(optimizer="sgd")]
)
def test_the_checkpoint_of_another_model_is_refused(other, tmp_path):
    checkpoint = RunCheckpoint(tmp_path)
    checkpoint.save(Dense(), 1)
    model = other()
    before = model.get_weights()
    with pytest.raises(ValueError, match="checkpoint of this model.*Received"):
        restore(model, tmp_path)
    for a, b in zip(before, model.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_half_precision_weights_come_back(tmp_path):
    model, other = (
        keras.Sequential(
            [keras.Input((2,)), keras.layers.Dense(2, dtype=dtype)]
        )
        for dtype in ("bfloat16", "bfloat16")
    )
    checkpoint = RunCheckpoint(tmp_path)
    checkpoint.save(model, 1)
    assert restore(other, tmp_path) == 1
    for a, b in zip(model.variables, other.variables):
        np.testing.assert_array_equal(
            np.asarray(a.value, "float32"), np.asarray(b.value, "float32")
        )


def test_nothing_in_the_file_is_pickled(tmp_path):
    checkpoint = RunCheckpoint(tmp_path)
    checkpoint.save(Dense(), 1)
    with np.load(checkpoint.path, allow_pickle=False) as file:
        about = json.loads(str(file["about"]))
        assert all(file[key].dtype != object for key in file.files)
    assert about["epoch"] == 1
    assert ["dense/kernel", [3, 2], "float32"] in about["variables"]


def test_wherever_a_file_is_cut_or_changed_the_one_before_is_used(tmp_path):
    checkpoint, model = RunCheckpoint(tmp_path), Dense()
    for epoch in (1, 2):
        checkpoint.save(model, epoch)
    last = tmp_path / "checkpoint.npz"
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


def test_one_that_is_spoiled_does_not_take_the_place_of_a_good_one(tmp_path):
    checkpoint, model = RunCheckpoint(tmp_path), Dense()
    for epoch in (1, 2):
        checkpoint.save(model, epoch)
    spoil(tmp_path / "checkpoint.npz", "cut")
    checkpoint.find(model)
    assert checkpoint.about["epoch"] == 1
    checkpoint.save(model, 2)
    spoil(tmp_path / "checkpoint.npz", "cut")
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


def values(model):
    return [np.array(v) for v in (*model.variables, *model.optimizer.variables)]


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
    for a, b in zip(values(model), values(again), strict=True):
        np.testing.assert_array_equal(a, b)
    other = adapted(seed=1)
    with pytest.raises(ValueError, match="kernel is frozen and had other val"):
        restore(other, tmp_path)


def test_frozen_weights_that_something_has_changed_are_saved(tmp_path):
    model = adapted()
    checkpoint = RunCheckpoint(tmp_path)
    checkpoint.find(model)
    kernel = model.layers[0].layers[0].kernel
    kernel.assign(kernel + 1.0)
    checkpoint.save(model, 1)
    again = adapted()
    restore(again, tmp_path)
    for a, b in zip(values(model), values(again), strict=True):
        np.testing.assert_array_equal(a, b)
