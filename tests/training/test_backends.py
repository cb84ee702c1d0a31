"""The same numbers on TensorFlow and on JAX, without TensorFlow there.

`python -m tests.training.test_backends` writes those of this backend.
"""

import functools
import json
import math
import pathlib
import signal
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import ops

from tests import dialogs
from tests import tiny
from tests.methods import stranger
from tests.methods.test_arguments import METHODS
from tests.methods.test_arguments import networks_of
from tests.methods.test_arguments import options_of
from tests.testing import same
from tfcap._io import load_arrays
from tfcap._ops import SeedGenerator
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import ScoreFunction
from tfcap.training import Evaluator
from tfcap.training import JointTraining
from tfcap.training import open_strategy
from tfcap.training.backends import backend

ROOT = pathlib.Path(__file__).parents[2]
FILE = pathlib.Path(__file__).parent / "numbers.json"
DECODERS = {
    "greedy": lambda: Greedy(6, no_repeat_ngram=2),
    "sample": lambda: Sample(Categorical(seed=0), 3, 6),
    "beam": lambda: BeamSearch(4, 6, groups=2),
}
on_jax = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="needs KERAS_BACKEND=jax"
)


def hashed(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """Numbers that a seed gives on every backend: a hash of their places."""
    first, second = ops.unstack(ops.cast(seed.next(), "int32"))
    x = ops.arange(math.prod(shape), dtype="int32")
    x = (x + 1) * 7919 + first * 104729 + second * 15485863
    x = ops.bitwise_xor(x, ops.bitwise_right_shift(x, 13)) * 1103515245 + 12345
    x = ops.bitwise_xor(x, ops.bitwise_right_shift(x, 16))
    x = ops.cast(ops.bitwise_and(x, 0xFFFFFF), "float32") / 2**24
    return ops.reshape(minval + (maxval - minval) * x, shape)


def even(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """One number: backends lay out the rows of continuations otherwise."""
    return ops.full(shape, 0.6 * maxval, "float32")


def noise_of(name):
    return even if name in ("policy_gradient", "g_gan") else hashed


@pytest.fixture(autouse=True)
def same_noise(monkeypatch):
    monkeypatch.setattr(keras.random, "uniform", hashed)


def trained(name, epochs=1):
    """Logs of epochs of two steps, and the weights after them."""
    keras.utils.set_random_seed(0)
    given = networks_of(METHODS[name])
    data = [stranger.batch(8)]
    if name in ("gan1", "gan2", "n_pair"):
        data = dialogs.batches(negatives=3).batch(0)
    elif "generator" in given:
        data = [dialogs.batches().batch(0)]
    for seed, network in enumerate(given.values()):
        if isinstance(network, keras.Model):
            stranger.fill(network, seed)
    if "max_length" in options_of(METHODS[name]):
        given["max_length"] = 3
    model = METHODS[name](**given)
    for network in getattr(model, "networks", ()):
        if network not in given.values():  # a baseline's
            network.set_weights([0.0 * w for w in network.get_weights()])
    sgd, players = keras.optimizers.SGD, getattr(model, "learners", None)
    model.compile({x: sgd(0.1) for x in players} if players else sgd(0.1))
    before = [np.array(v.numpy()) for v in model.trainable_variables]
    options = {"batch_size": 4, "shuffle": False, "verbose": 0}
    history = model.fit(*data, epochs=epochs, **options)
    after = [np.array(v.numpy()) for v in model.trainable_variables]
    assert any((x != y).any() for x, y in zip(before, after))
    assert np.isfinite([*history.history.values()]).all()
    return history.history, after


def numbers_of(name):
    """Of a method, losses and weights of ten steps; of a decoder, its ids."""
    if name in DECODERS:
        speaker = stranger.speaker()
        state = speaker.begin(stranger.batch(3))
        tokens = DECODERS[name]().decode(speaker, state).tokens
        return {"ids": np.array(tokens).tolist()}
    logs, weights = trained(name, epochs=5)
    losses = [logs[key] for key in sorted(logs) if key.endswith("loss")]
    weights = [np.sum(np.cos(np.arange(w.size)) * w.ravel()) for w in weights]
    return {"losses": losses, "weights": [float(each) for each in weights]}


# One is enough to see on TensorFlow that the file is of it.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(x, marks=[on_jax] * (x not in (*DECODERS, "psst")))
        for x in (*DECODERS, *METHODS)
    ],
)
def test_numbers_are_those_of_the_other_backend(name, monkeypatch):
    monkeypatch.setattr(keras.random, "uniform", noise_of(name))
    found, known = numbers_of(name), json.loads(FILE.read_text())[name]
    for key, values in known.items():
        np.testing.assert_allclose(found[key], values, 1e-4, 1e-5)


@pytest.fixture
def compiled():
    """List of the steps that are compiled."""
    import jax

    found = []

    def note(event, seconds, **kwargs):
        step = "changing" in kwargs.get("fun_name", "")
        if step and event.endswith("backend_compile_duration"):
            found.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield found
    jax.monitoring.unregister_event_duration_listener(note)


@on_jax
def test_a_step_is_compiled_once_for_captions_of_any_length(compiled):
    speaker = stranger.speaker()
    model = METHODS["scst"](speaker, networks_of(METHODS["scst"])["reward"])
    model.compile(keras.optimizers.SGD(0.1))
    batches = [stranger.batch(rows, seed) for seed, rows in enumerate([4] * 4)]
    counts = []
    for batch in [*batches, stranger.batch(2)]:
        model.train_on_batch(batch)
        counts.append(len(compiled))
        compiled.clear()
    model.fit(((batch,) for batch in batches), verbose=0)
    counts.append(len(compiled))
    # A batch of another size is compiled, too, and how `fit()` hands one over.
    assert counts == [1, 0, 0, 0, 1, 1]


@on_jax
@pytest.mark.parametrize("devices", [["cpu:0"], None])
def test_a_step_is_compiled_once_under_a_distribution(devices, compiled):
    with keras.distribution.DataParallel(devices=devices).scope():
        model = METHODS["mle"](stranger.speaker())
        model.compile(keras.optimizers.Adam(0.1))
        model.fit(stranger.batch(8), batch_size=8, epochs=3, verbose=0)
    assert len(compiled) == 1


@on_jax
def test_eight_devices_train_as_one():
    """Also where every row of the batch is a negative of the others."""

    def trained(rows):
        keras.utils.set_random_seed(0)
        networks = stranger.speaker(), stranger.listener()
        for seed, network in enumerate(networks):
            stranger.fill(network, seed)
        model = METHODS["psst"](*networks, lambda_=1.0, max_length=3, seed=0)
        model.compile({x: keras.optimizers.SGD(0.1) for x in model.learners})
        fit = functools.partial(model.fit, shuffle=False, verbose=0)
        history = fit(stranger.batch(rows), batch_size=rows, epochs=2)
        return history.history, [x.get_weights() for x in networks]

    wanted = trained(16)
    with open_strategy().scope():
        same(trained(16), wanted, 1e-5, 1e-5)
        with pytest.raises(ValueError, match="8 times.*size is 12"):
            trained(12)


@on_jax
def test_a_step_that_is_not_finite_moves_no_weight():
    speaker = stranger.speaker()

    def worth(rollout, episode):
        return 0.0 / keras.ops.zeros_like(rollout.mask[..., 0])

    model = JointTraining(speaker, ScoreFunction(worth, Sample(max_length=3)))
    model.compile(keras.optimizers.SGD(0.1))
    before = speaker.get_weights()
    with pytest.raises(FloatingPointError, match="`worth` is nan, after 0"):
        model.fit(stranger.batch(), verbose=0)
    for one, other in zip(before, speaker.get_weights()):
        np.testing.assert_array_equal(one, other)


@on_jax
def test_speakers_are_evaluated_after_every_epoch():
    speaker = stranger.speaker()
    model = METHODS["mle"](speaker)
    model.compile(keras.optimizers.SGD(0.1))
    data, other = stranger.batch(8), stranger.batch(6, seed=1)
    evaluator = Evaluator(
        speaker,
        other,
        stranger.listener(),
        decoder=Greedy(stranger.LENGTH),
        image="pixels",
    )
    history = model.fit(data, epochs=2, callbacks=[evaluator], verbose=0)
    assert len(history.history["val_r_5"]) == 2
    assert history.history["val_r_5"][-1] == evaluator().scores["r@5"]


KILLED = """
import os, signal, sys
import keras
from tests.methods import stranger
import tfcap

def train(folder, seed, batch_begins=None):
    keras.utils.set_random_seed(seed)
    reward = tfcap.rewards.CIDErD(stranger.frequencies())
    training = tfcap.methods.scst(stranger.speaker(), reward, max_length=3)
    training.compile(keras.optimizers.Adam(0.1))
    batches = tfcap.data.DatasetBatches.from_arrays(stranger.batch(8), 2)
    happens = keras.callbacks.LambdaCallback(on_train_batch_begin=batch_begins)
    resume = tfcap.training.Resume(folder, save_every=1e-9)
    data, callbacks = batches.dataset(2), [resume, happens]
    training.fit(data, epochs=2, callbacks=callbacks, verbose=0)

def kill(batch, logs, begun=[]):
    begun.append(batch)
    if len(begun) == 7:
        os.kill(os.getpid(), signal.SIGKILL)

os.chdir(sys.argv[1])
if os.path.exists("parts"):
    train("parts", 9)
else:
    train("whole", 0)
    train("parts", 0, kill)
"""


@on_jax
def test_a_run_is_killed_and_goes_on(tmp_path):
    for status in (-signal.SIGKILL, 0):
        run = subprocess.run(
            [sys.executable, "-c", KILLED, tmp_path],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == status, run.stderr
    parts, whole = (
        load_arrays(tmp_path / name / "checkpoint.npz")
        for name in ("parts", "whole")
    )
    np.testing.assert_equal(parts, whole)


def test_what_a_graph_reads_is_found_wherever_it_is_kept():
    weight, seeds = keras.Variable(np.float32(2.0)), SeedGenerator(1)
    traces = []

    def function(x):
        traces.append(x)
        return weight * x, ops.cast(seeds.next()[1], "int32")

    run = backend.graph(function)
    found = [[float(x) for x in run(np.float32(3.0))] for _ in range(2)]
    weight.assign(5.0)
    assert [*found, float(run(np.float32(3.0))[0])] == [[6, 0], [6, 1], 15]
    assert len(traces) <= 2


@pytest.mark.parametrize("updates", [1, pytest.param(2, marks=on_jax)])
def test_what_a_reward_reads_is_found_wherever_it_is_kept(updates):
    weight, seeds = keras.Variable(np.float32(2.0)), SeedGenerator(1)

    def worth(rollout, episode):
        drawn = ops.cast(seeds.next()[1], "float32")
        return ops.ones_like(rollout.mask[..., 0]) * weight + drawn

    objective = ScoreFunction(worth, Sample(max_length=2))
    model = JointTraining(tiny.TableSpeaker(), objective, updates)
    model.compile(keras.optimizers.SGD(0.1))
    data, found = tiny.batch(2), []
    for given in (2.0, 5.0):
        weight.assign(given)
        for method in (model.fit, model.evaluate):
            method(data, verbose=0)
            found.append(float(model.trackers["worth"].result()))
    assert found == [2.0, 3.0, 7.0, 8.0]


if __name__ == "__main__":
    found = {}
    for each in [*DECODERS, *METHODS]:
        keras.random.uniform = noise_of(each)
        found[each] = numbers_of(each)
    FILE.write_text(json.dumps(found, indent=1) + "\n")
