"""A run that is stopped ends as one that is not, bit for bit.

Program, data and models are made anew, as by a process that starts.
"""

import functools
import os
import signal
import subprocess
import sys

import keras
import numpy as np
import pytest

import tfcap
from tests.training.resumed import epochs_done
from tests.training.stopped import goes_on
from tfcap.data import DatasetBatches
from tfcap.data import Epochs
from tfcap.training import Resume
from tfcap.training import checkpoint
from tfcap.training import open_strategy

EPOCHS, STEPS, SIZE = 3, 3, 2
ROWS = STEPS * SIZE - 1
X = np.random.default_rng(0).normal(size=(ROWS, 3)).astype("float32")
Y = (X.sum(axis=1, keepdims=True) > 0).astype("float32")
WORDS = {
    "image": X[:, None],
    "caption": np.random.default_rng(1).integers(4, 6, (ROWS, 1, 3)),
}
WORDS["caption"][..., 2] = 2


def compiled(model, optimizer=None):
    model.compile(
        optimizer or keras.optimizers.Adam(0.1),
        loss="mse",
        metrics=["mae", keras.metrics.AUC(num_thresholds=5, name="auc")],
        run_eagerly=True,
    )
    return model


def linear(rate=0.1):
    layers = keras.Input((3,)), keras.layers.Dense(1)
    return compiled(keras.Sequential(layers), keras.optimizers.SGD(rate))


def unbuilt():
    """Not built before its first batch."""
    layers = keras.layers.Dense(4), keras.layers.Dropout(0.5)
    return compiled(keras.Sequential([*layers, keras.layers.Dense(1)]))


def functional():
    inputs = keras.Input((3,))
    x = keras.layers.BatchNormalization()(keras.layers.Dense(4)(inputs))
    return compiled(keras.Model(inputs, keras.layers.Dense(1)(x)))


def speaker():
    made = tfcap.models.ShowTellSpeaker(6, units=4, dropout=0.5)
    made(WORDS)
    return made


def psst():
    listener = tfcap.models.RetrievalListener(6, units=4)
    listener(WORDS)
    count = tfcap.text.DocumentFrequencies.from_references
    frequencies = count(WORDS["caption"], tfcap.text.Vocabulary(["a", "b"]))
    cider = tfcap.rewards.CIDErD(
        frequencies, references="caption", jit_compile=False
    )
    numbers = {"lambda_": 0.1, "rho": 0.25, "max_length": 3}
    networks = speaker(), listener
    model = tfcap.methods.psst(*networks, naturalness=cider, **numbers)
    adam = keras.optimizers.Adam
    rates = {"speaker": 0.01, "listener": 0.02}
    optimizers = {name: adam(rate, name=name) for name, rate in rates.items()}
    model.compile(optimizers, run_eagerly=True)
    return model


def in_a_graph():
    """Draws words, drops out, anneals, and scales a loss by what grows."""
    decoder = tfcap.decoding.ScheduledSampling(lambda step: 0.1 * step, seed=1)
    forcing = tfcap.objectives.TeacherForcing(decoder=decoder)
    model = tfcap.training.JointTraining(speaker(), forcing)
    adam = keras.optimizers.Adam(0.01)
    growing = {"initial_scale": 8.0, "dynamic_growth_steps": 2}
    model.compile(keras.optimizers.LossScaleOptimizer(adam, **growing))
    return model


class Rows(keras.utils.PyDataset):
    """Batches in their order."""

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        rows = slice(index * SIZE, (index + 1) * SIZE)
        return X[rows], Y[rows]


def pairs():
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices((X, Y))


def generated(epoch):
    for index in np.random.default_rng(epoch).permutation(STEPS):
        yield Rows()[index]


def arrays():
    return dict(x=X, y=Y, batch_size=SIZE)


INDEXED = {
    "arrays": arrays,
    "weighted arrays": lambda: dict(
        **{"x": X, "y": Y, "batch_size": SIZE, "shuffle": False},
        sample_weight=X[:, 0] ** 2,
    ),
    "batches": lambda: dict(
        x=DatasetBatches.from_arrays(*((X, Y), SIZE), seed=3).dataset(EPOCHS)
    ),
    "epochs of tf.data": lambda: dict(
        x=Epochs(lambda epoch: pairs().shuffle(5, seed=epoch).batch(2)).dataset(
            EPOCHS
        )
    ),
    "epochs of Python": lambda: dict(
        x=Epochs(lambda _: Rows()).dataset(EPOCHS)
    ),
    "epochs of a generator": lambda: dict(
        x=Epochs(generated, STEPS).dataset(EPOCHS)
    ),
}
BY_EPOCHS = {
    "shuffled": lambda: dict(x=pairs().shuffle(ROWS, seed=3).batch(SIZE)),
    "endless": lambda: dict(
        x=pairs().shuffle(ROWS, seed=3).repeat().batch(SIZE),
        steps_per_epoch=STEPS,
    ),
    "batches of Python": lambda: dict(x=Rows(), shuffle=False),
}


def words():
    return dict(x=WORDS, batch_size=SIZE)


#: In the midst of an epoch, at its first and last step, in an evaluation.
PLACES = [(1, 1), (0, 0), (1, STEPS - 1), (1, STEPS), (EPOCHS - 1, STEPS)]


def sigterm():
    signal.raise_signal(signal.SIGTERM)


def sigint():
    signal.raise_signal(signal.SIGINT)


def no_notice():
    raise RuntimeError("no notice")


class Stop(keras.callbacks.Callback):
    """Happens in a step, or after the last one, in an evaluation."""

    def __init__(self, epoch, batch, happens=sigterm):
        super().__init__()
        self.place, self.happens = (epoch, batch), happens

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if (self.epoch, batch) == self.place:
            self.happens()

    def on_epoch_end(self, epoch, logs=None):
        self.on_train_batch_begin(STEPS)


class Evaluate(keras.callbacks.Callback):
    """What an evaluation adds to the logs of an epoch."""

    def on_epoch_end(self, epoch, logs=None):
        logs["score"] = float(np.abs(self.model.get_weights()[0]).sum())


def remembering():
    """What changes the model, and what remembers."""
    known = keras.callbacks
    return [
        Evaluate(),
        known.LearningRateScheduler(lambda _, rate: 0.9 * rate),
        known.EarlyStopping("score", 0.1, 9, mode="max"),
    ]


def run(folder, *more, make=linear, data=arrays, seed=3, often=600, **options):
    """A program. Returns what is left of it."""
    keras.utils.set_random_seed(seed)
    model, logged = make(), []
    # By which data sets of TensorFlow shuffle.
    keras.utils.set_random_seed(3)
    log = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: logged.append((batch, logs))
    )
    options = {"epochs": EPOCHS, "verbose": 0, **data(), **options}
    callbacks = [*remembering(), *more, log]
    history = Resume(folder, often).fit(model, callbacks=callbacks, **options)
    state = [np.asarray(v) for v in checkpoint.variables_of(model)]
    return state, history.epoch, history.history, logged


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Function that gives the end of a run that nothing stops."""

    @functools.cache
    def train(make, data):
        return run(tmp_path_factory.mktemp("whole"), make=make, data=data)

    return train


def same(found, wanted, atol=0.0):
    for one, other in zip(found[0], wanted[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=atol)
    assert found[1] == wanted[1] and found[2].keys() == wanted[2].keys()
    for name, values in found[2].items():
        np.testing.assert_allclose(values, wanted[2][name], 0.0, atol, name)
    if not atol:
        assert found[3] == wanted[3][len(wanted[3]) - len(found[3]) :]


TABLE = {
    **{f"linear {n}": (linear, d, PLACES[:1]) for n, d in INDEXED.items()},
    **{f"linear {n}": (linear, d, PLACES[:1]) for n, d in BY_EPOCHS.items()},
    **{f"at {p}": (functional, arrays, [p]) for p in PLACES},
    "thrice": (functional, arrays, [(0, 1), (0, 2), (2, 0)]),
    "unbuilt arrays": (unbuilt, arrays, [(0, 1), (1, 1)]),
    "unbuilt epochs": (unbuilt, INDEXED["epochs of tf.data"], [(1, STEPS)]),
    "PSST": (psst, words, [(0, 1), (1, 1)]),
    "in a graph": (in_a_graph, words, [(1, 1)]),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_run_that_is_stopped_ends_as_one_that_is_not(name, whole, tmp_path):
    make, data, places = TABLE[name]
    made = {"make": make, "data": data}
    for seed, place in enumerate(places):
        with pytest.raises(SystemExit) as stopped:
            run(tmp_path, Stop(*place), **made, seed=seed or 3)
        assert stopped.value.code == 143
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    # Weights and seeds of another program are those of the checkpoint.
    found = run(tmp_path, **made, seed=99)
    # Threads of a graph add in another order: two undisturbed runs differ as
    # much. tests/faults compares bits, with one thread.
    atol = 1e-6 if name in ("PSST", "in a graph") else 0.0
    same(found, whole(make, data), atol)
    epoch, batch = places[-1]
    done = 0 if name.removeprefix("linear ") in BY_EPOCHS else batch + 1
    left = (EPOCHS - epoch) * STEPS - min(done, STEPS)
    assert len(found[3]) == left
    # Nothing is left.
    again = run(tmp_path, **made, seed=98)
    same(again, whole(make, data), atol)
    assert not again[3]


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="needs JAX")
def test_a_run_on_several_devices_goes_on(tmp_path):
    with open_strategy().scope():
        goes_on(tmp_path)


def test_a_run_without_notice_goes_on_from_what_was_saved_in_time(
    whole, tmp_path
):
    for place in ((0, 2), (1, 1)):
        with pytest.raises(RuntimeError, match="no notice"):
            run(tmp_path, Stop(*place, no_notice), often=1e-9)
    found = run(tmp_path, seed=99)
    same(found, whole(linear, arrays))
    assert len(found[3]) == 2 * STEPS - 1
    # The lock and the step of the model are free.
    with pytest.raises(RuntimeError, match="no notice"):
        run(tmp_path, Stop(3, 0, no_notice), epochs=4)


@pytest.fixture
def ctrl_c():
    """Ctrl-C as of a program in a terminal; a shell's jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_saves_too(whole, tmp_path, capsys, ctrl_c):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Stop(1, 0, sigint))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    told = capsys.readouterr().err
    place = f"{tmp_path}: 1 epoch and 1 step of the next. To resume, run"
    assert f"Stopped by SIGINT. Saved in {place}" in told
    same(run(tmp_path, seed=99), whole(linear, arrays))


def test_a_second_signal_acts_at_once(tmp_path, ctrl_c):
    def twice():
        sigint()
        sigint()

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Stop(0, 0, twice))
    assert not list(tmp_path.glob("*.npz"))


def test_a_handler_of_the_program_takes_over_when_it_has_stopped(tmp_path):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        with pytest.raises(SystemExit):
            run(tmp_path, Stop(0, 0))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [1] and epochs_done(tmp_path) == 0


@pytest.mark.parametrize(
    "data, words",
    [
        (arrays, "resumes exactly, also within"),
        (BY_EPOCHS["shuffled"], "resumes at the start of an epoch, since the"),
    ],
)
def test_it_says_what_holds(data, words, tmp_path, capsys):
    run(tmp_path, data=data, epochs=1, verbose=2)
    assert f"{tmp_path}: {words}" in capsys.readouterr().out
    run(tmp_path, data=data, epochs=2, verbose=2)
    said = capsys.readouterr().out
    assert f"{tmp_path}: goes on after 1 epoch, and {words}" in said


def test_as_a_callback_of_another_model_it_tells_how(tmp_path):
    with pytest.raises(ValueError, match="resume.fit\\(model, x, y"):
        linear().fit(X, Y, callbacks=[Resume(tmp_path)], verbose=0)


def test_callbacks_may_be_given_by_their_place(tmp_path, capsys):
    in_a_graph().fit(WORDS, None, SIZE, 1, 2, [Resume(tmp_path)])
    assert f"{tmp_path}: resumes exactly" in capsys.readouterr().out


def test_it_ends_where_it_was_stopped_early(tmp_path):
    class End(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = True

    first = run(tmp_path, End())
    assert first[1] == [0]
    same(run(tmp_path), first)
    assert run(tmp_path, epochs=4)[1] == [0, 1, 2, 3]


class Remembers(keras.callbacks.Callback):
    """Remembers whatever a program may."""

    def __init__(self):
        super().__init__()
        self.state = {"steps": 0, "rest": [np.arange(2.0), None]}

    def on_train_batch_end(self, batch, logs=None):
        self.state["steps"] += 1

    def get_state(self):
        return self.state

    def set_state(self, state):
        self.state = state


def test_callbacks_get_their_memory_back(tmp_path, capsys):
    known = keras.callbacks

    def others():
        rate = {"min_delta": 9.0, "patience": 1, "factor": 0.5}
        path = str(tmp_path / "best.weights.h5")
        best = {"monitor": "loss", "save_best_only": True}
        return [
            Remembers(),
            known.ReduceLROnPlateau("loss", **rate),
            known.ModelCheckpoint(path, save_weights_only=True, **best),
        ]

    wanted = others()
    whole = run(tmp_path / "whole", *wanted)
    with pytest.raises(SystemExit):
        run(tmp_path / "parts", *others(), Stop(1, 1))
    found = others()
    same(run(tmp_path / "parts", *found), whole)
    assert found[0].state["steps"] == EPOCHS * STEPS
    np.testing.assert_array_equal(found[0].state["rest"][0], [0.0, 1.0])
    for name in ("best", "wait", "cooldown_counter"):
        assert getattr(found[1], name) == getattr(wanted[1], name)
    assert found[2].best == wanted[2].best
    assert "begin anew" not in capsys.readouterr().out
    run(tmp_path / "parts", epochs=4)
    assert "begin anew, since the run had" in capsys.readouterr().out


def fewer_metrics():
    model = linear()
    model.compile("sgd", "mse", metrics=["mae"])
    return model


REFUSED = {
    "steps": (linear, lambda: dict(x=X, y=Y, batch_size=1), "as many steps"),
    "data": (linear, BY_EPOCHS["shuffled"], "must be indexed by the step"),
    "metrics": (fewer_metrics, arrays, "8 metrics, and"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_another_run_is_of_is_refused(name, tmp_path):
    with pytest.raises(SystemExit):
        run(tmp_path, Stop(1, 0))
    make, data, told = REFUSED[name]
    with pytest.raises(ValueError, match=told):
        run(tmp_path, make=make, data=data)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")
def test_another_process_is_kept_out(tmp_path):
    code = (
        "import fcntl, os, sys; f = os.open(sys.argv[1], os.O_RDONLY); "
        "fcntl.flock(f, fcntl.LOCK_EX); print('has it', flush=True); input()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as other:
        other.stdout.readline()
        with pytest.raises(ValueError, match="another process trains"):
            run(tmp_path)
        other.communicate(b"\n")
    run(tmp_path, epochs=1)


def test_where_a_checkpoint_is_damaged_the_one_before_is_used(tmp_path, capsys):
    whole = run(tmp_path)
    last, before = sorted(tmp_path.iterdir())
    last.write_bytes(last.read_bytes()[:-1])
    kept = before.read_bytes()
    same(run(tmp_path), whole)
    said = capsys.readouterr().out
    assert f"{last} cannot be used" in said
    assert f"Using the one before: {before}" in said
    for path in (last, before):
        path.write_bytes(kept[:-1])
    with pytest.raises(ValueError, match=f"No checkpoint in {tmp_path} can be"):
        run(tmp_path)


def test_a_state_that_is_not_finite_is_not_saved(tmp_path):
    class Spoil(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                weight = self.model.weights[0]
                weight.assign(np.nan * weight)

    with pytest.raises(FloatingPointError, match="dense.*/kernel"):
        run(tmp_path, Spoil())
    assert epochs_done(tmp_path) == 1


def fitted(folder, epochs, rate=0.1):
    """A model that is made anew and trained, seeded by nobody."""
    model = linear(rate)
    options = {"batch_size": SIZE, "epochs": epochs, "verbose": 0}
    Resume(folder).fit(model, X, Y, **options)
    return model


def test_a_learning_rate_that_the_program_has_changed_stays(tmp_path):
    for epochs, rate in ((1, 0.5), (2, 0.25), (3, 0.25)):
        model = fitted(tmp_path, epochs, rate)
        assert float(model.optimizer.learning_rate) == rate


def test_a_program_of_several_runs_goes_on_as_it_would_have(tmp_path):
    def program(folder, runs):
        keras.utils.set_random_seed(1)
        made = [fitted(tmp_path / folder / str(run), 2) for run in range(runs)]
        return made[-1].get_weights()

    program("stopped", 1)
    for one, other in zip(program("stopped", 2), program("whole", 2)):
        np.testing.assert_array_equal(one, other)
