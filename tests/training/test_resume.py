"""A run that is stopped in the midst of an epoch ends as one that is not."""

import contextlib
import itertools
import re
import signal
import subprocess
import sys
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tests.faults.mutations import damage
from tests.training import resumed
from tests.training import test_checkpoint
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining
from tfcap.training import Learner
from tfcap.training import Resume
from tfcap.training.checkpoint import RunCheckpoint

EPOCHS, STEPS = 3, 3
#: Whatever a clock has to do with.


def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(EPOCHS * STEPS, 4, 3)).astype("float32")
    y = rng.integers(0, 2, (EPOCHS * STEPS, 4, 1))
    return tf.data.Dataset.from_tensor_slices((x, y))


def fit(model, folder, callbacks=(), steps=STEPS, **options):
    return model.fit(
        rows(),
        epochs=EPOCHS,
        steps_per_epoch=steps,
        shuffle=False,
        callbacks=[Resume(folder, **options), *callbacks],
        verbose=0,
    )


class Stop(keras.callbacks.Callback):
    """A scheduler's SIGTERM in the midst of a step, or of an evaluation."""

    def __init__(self, epoch, batch):
        super().__init__()
        self.place = epoch, batch

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if (self.epoch, batch) == self.place:
            signal.raise_signal(signal.SIGTERM)

    def on_epoch_end(self, epoch, logs=None):
        self.on_train_batch_begin(STEPS)


class Evaluate(keras.callbacks.Callback):
    """What an evaluation adds to the logs of an epoch."""

    def on_epoch_end(self, epoch, logs=None):
        logs["val_size"] = float(np.abs(self.model.get_weights()[0]).sum())


class Read(keras.callbacks.Callback):
    """What a callback may read of an epoch and its steps."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append((self.epoch, batch, dict(logs)))


def network(more=True):
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(5),
            keras.layers.Dropout(0.5),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(
        keras.optimizers.Adam(0.1),
        loss="binary_crossentropy",
        metrics=more * ["mae", keras.metrics.AUC(num_thresholds=5, name="auc")],
        run_eagerly=True,
    )
    return model


def train(folder, *callbacks, seed=None, **options):
    """Trains; returns what is left of it."""
    model, read = network(), Read()
    if seed is not None:
        keras.utils.set_random_seed(seed)
        model.set_weights([2 * weight for weight in model.get_weights()])
    rate = keras.callbacks.LearningRateScheduler(lambda _, rate: 0.9 * rate)
    board = keras.callbacks.TensorBoard(folder / "logs", write_graph=False)
    callbacks = [rate, Evaluate(), read, *callbacks, board]
    history = fit(model, folder / "run", callbacks, **options)
    state = [*model.get_weights(), *map(np.array, model.optimizer.variables)]
    return state, history.epoch, history.history, read.seen


def logged(folder):
    """Set of what TensorBoard's files hold, without the time."""
    values = set()
    for path in folder.rglob("events*"):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                content = value.tensor.SerializeToString()
                values.add((value.tag, event.step, content))
    return values


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return train(folder), logged(folder)


def same_end(found, whole):
    state, epochs, history, seen = found
    for one, other in zip(state, whole[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert epochs == whole[1] and history == whole[2]
    assert seen == whole[3][len(whole[3]) - len(seen) :]


#: Before the last step, before and at an evaluation, and at the last one.
PLACES = [(1, 1), (1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize("epoch, batch", PLACES)
def test_a_run_that_a_scheduler_stops_goes_on_exactly(
    epoch, batch, whole, tmp_path, capsys
):
    with pytest.raises(SystemExit) as stopped:
        train(tmp_path, Stop(epoch, batch))
    assert stopped.value.code == 143
    place = f"step {batch + 1} of epoch {epoch + 1}"
    if batch == STEPS:
        place, epoch = f"epoch {epoch + 1}", epoch + 1
    told = capsys.readouterr().err
    assert f"Stopped by SIGTERM after {place}, which is" in told
    assert "run the same command again" in told
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if epoch == EPOCHS:
        model = network()
        history = fit(model, tmp_path / "run")
        assert history.epoch == [0, 1, 2]
        for one, other in zip(model.get_weights(), whole[0][0]):
            np.testing.assert_array_equal(one, other)
        return
    found = train(tmp_path, seed=99)
    same_end(found, whole[0])
    assert len(found[3]) == (EPOCHS - epoch) * STEPS - (batch + 1) % (STEPS + 1)
    assert logged(tmp_path) == whole[1]


def test_a_run_that_is_stopped_at_every_step_goes_on_exactly(whole, tmp_path):
    for epoch, batch in itertools.product(range(EPOCHS), range(STEPS)):
        with pytest.raises(SystemExit):
            train(tmp_path, Stop(epoch, batch), seed=10 * epoch + batch or None)
    same_end(train(tmp_path, seed=99), whole[0])
    assert logged(tmp_path) == whole[1]


class End(keras.callbacks.Callback):
    """A limit of time, which ends a run in one hook, at a place or at once."""

    def __init__(self, hook, *place):
        super().__init__()
        self.place, self.ended = place, []
        setattr(self, hook, self.end)

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def end(self, *step, logs=None):
        if not self.place or (self.epoch, step[0]) == self.place:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        self.ended.append(epoch)

    def on_train_end(self, logs=None):
        self.ended.append("training")


@pytest.mark.parametrize("hook", ["on_train_begin", "on_epoch_begin"])
def test_a_run_that_goes_on_may_end_at_its_first_step(hook, tmp_path):
    end = End("on_train_batch_begin", 1, 1)
    whole = train(tmp_path / "whole", end)
    assert end.ended == [0, 1, "training"] and len(whole[3]) == STEPS + 2
    with pytest.raises(SystemExit):
        train(tmp_path / "parts", Stop(1, 0))
    end = End(hook)
    same_end(train(tmp_path / "parts", end, seed=99), whole)
    assert end.ended == [1, "training"]
    assert logged(tmp_path / "parts") == logged(tmp_path / "whole")
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    # The folder is free, and the run is over.
    found = train(tmp_path / "parts", seed=99)
    assert not found[3]
    same_end(found, whole)


def test_a_run_that_was_to_end_when_it_was_stopped_takes_no_step_more(tmp_path):
    whole = train(tmp_path / "whole", End("on_train_batch_end", 1, 1))
    with pytest.raises(SystemExit):
        end = End("on_train_batch_end", 1, 1)
        train(tmp_path / "parts", end, Stop(1, 1))
    found = train(tmp_path / "parts", seed=99)
    assert not found[3]
    same_end(found, whole)
    assert logged(tmp_path / "parts") == logged(tmp_path / "whole")


class Break(Stop):
    """A process that ends without notice, and what is on the disk then."""

    def __init__(self, epoch, batch, folder):
        super().__init__(epoch, batch)
        self.folder = folder

    def on_train_batch_begin(self, batch, logs=None):
        if (self.epoch, batch) == self.place:
            self.logged = logged(self.folder)
            raise KeyboardInterrupt


def test_a_run_without_notice_goes_on_from_what_was_saved_in_time(
    whole, tmp_path
):
    stop = Break(1, 2, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, stop, save_every=1e-9)
    first = {log for log in whole[1] if log[0] and log[1] == 0}
    assert first and first <= stop.logged
    checkpoint = RunCheckpoint(tmp_path / "run")
    assert checkpoint.epoch == 1
    found = train(tmp_path, seed=99)
    same_end(found, whole[0])
    assert len(found[3]) == (EPOCHS - 1) * STEPS - 2


class BreakEvaluation(keras.callbacks.Callback):
    """A process that ends in the evaluation of the second epoch."""

    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            raise KeyboardInterrupt


def test_a_long_epoch_is_saved_before_it_is_evaluated(
    whole, tmp_path, monkeypatch
):
    name = "tfcap.training.resume._WORTH"
    monkeypatch.setattr(name, 0.0)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, BreakEvaluation())
    found = train(tmp_path, seed=99)
    same_end(found, whole[0])
    assert len(found[3]) == STEPS


def test_whatever_is_damaged_in_a_checkpoint_the_one_before_is_used(
    tmp_path, capsys
):
    # Of some kilobytes, as most arrays are.
    x = np.ones((2, 40), "float32")

    def program(epochs=2):
        keras.utils.set_random_seed(1)
        dense = keras.layers.Dense(40, name="dense")
        model = keras.Sequential([keras.Input((40,)), dense])
        model.compile("sgd", "mse", run_eagerly=True)
        callbacks = [Resume(tmp_path)]
        model.fit(x, x, epochs=epochs, callbacks=callbacks, verbose=0)
        return model.get_weights()

    whole, (last, before) = program(), sorted(tmp_path.iterdir())
    kept = before.read_bytes()
    for _ in damage(last, step=1500):
        before.write_bytes(kept)
        capsys.readouterr()
        for one, other in zip(program(), whole, strict=True):
            np.testing.assert_array_equal(one, other)
        said = capsys.readouterr().out
        assert f"{last} cannot be used" in said
        assert f"Using the one before, of epoch 1: {before}" in said
    # Neither can be used.
    last.write_bytes(kept[:-1])
    before.write_bytes(kept[1:])
    match = f"No checkpoint in {tmp_path} can be used"
    with pytest.raises(ValueError, match=match):
        program()


def test_ctrl_c_is_no_notice(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, Break(1, 2, tmp_path))
    checkpoint = RunCheckpoint(tmp_path / "run")
    assert checkpoint.restore(network()) == 1
    assert "step" not in checkpoint.restored


def test_another_number_of_steps_is_refused_in_the_midst_of_an_epoch(tmp_path):
    with pytest.raises(SystemExit):
        train(tmp_path, Stop(1, 0))
    match = "as many steps per epoch.*Received: 2 steps, and 3 in"
    with pytest.raises(ValueError, match=match):
        fit(network(), tmp_path / "run", steps=2)


def test_other_metrics_are_refused_in_the_midst_of_an_epoch(tmp_path):
    with pytest.raises(SystemExit):
        train(tmp_path, Stop(1, 0))
    model = network(more=False)
    match = "compiled with the metrics of its checkpoint"
    with pytest.raises(ValueError, match=match):
        fit(model, tmp_path / "run")


@pytest.mark.parametrize(
    "wrong", [{"step": 4}, {"step": "1"}, {"steps": None}, {"logs": 1}]
)
def test_a_place_that_is_none_is_told(wrong, tmp_path, capsys):
    model, checkpoint = network(), RunCheckpoint(tmp_path)
    place = {"step": 1, "steps": 3, "logs": {}}
    checkpoint.save(model, 2, **place)
    checkpoint.save(model, 2, **(place | wrong))
    assert checkpoint.restore(network()) == 2
    assert checkpoint.restored["step"] == 1
    told = capsys.readouterr().out
    assert "the step that it is of is none" in told
    assert "Using the one before, of epoch 2 and step 1 of the next" in told


@pytest.mark.parametrize("save_every", [0, -1.0, float("nan")])
def test_a_time_that_is_none_is_refused(save_every, tmp_path):
    with pytest.raises(ValueError, match="`save_every` must be positive"):
        train(tmp_path, save_every=save_every)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
@pytest.mark.parametrize(
    "make",
    [
        test_checkpoint.in_a_graph,
        test_checkpoint.taking_turns,
    ],
)
def test_networks_of_words_go_on_exactly(make, tmp_path):
    tf.config.run_functions_eagerly(make is not test_checkpoint.in_a_graph)

    def train(folder, *more, seed=0):
        keras.utils.set_random_seed(seed)
        model, networks, batches, callbacks = make()
        history = resumed.fit(model, batches, 2, folder, [*callbacks, *more])
        weights = [w for network in networks for w in network.get_weights()]
        return weights, {k: v[-1] for k, v in history.history.items()}

    try:
        whole = train(tmp_path / "whole")
        with pytest.raises(SystemExit):
            train(tmp_path / "parts", Stop(1, 0))
        rest = train(tmp_path / "parts", seed=99)
    finally:
        tf.config.run_functions_eagerly(False)
    for one, other in zip(whole[0], rest[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole[1] == rest[1]


def of_a_game(optimizer):
    speaker = tiny.TableSpeaker()
    model = JointTraining(speaker, {"g": Learner(speaker, TeacherForcing())})
    model.compile(optimizer, run_eagerly=True)
    return model


def of_an_objective(optimizer):
    model = JointTraining(tiny.TableSpeaker(), TeacherForcing())
    model.compile(optimizer, run_eagerly=True)
    return model


def of_keras(optimizer):
    model = network()
    model.compile(optimizer, "binary_crossentropy", run_eagerly=True)
    return model


def words():
    batch = {
        "rows": np.arange(2),
        "references": np.array([[[2, 1, 0]], [[3, 2, 1]]], "int32"),
    }
    return tf.data.Dataset.from_tensors(batch).repeat(2)


@pytest.mark.parametrize("make", [of_a_game, of_an_objective, of_keras])
def test_a_run_whose_last_epoch_is_on_disk_ends_in_its_averages(make, tmp_path):
    data = rows().take(2) if make is of_keras else words()
    weights = []
    for _ in range(2):
        rate = keras.optimizers.SGD(0.5, use_ema=True, ema_momentum=0.7)
        model = make(rate)
        model.fit(*(data, None, None, 2, 0, [Resume(tmp_path)]), shuffle=False)
        weights.append(model.trainable_variables[0].numpy())
    assert weights[0].any()
    np.testing.assert_array_equal(*weights)


# What a run meets beside its data ---------------------------------------------


def learn(folder, callbacks=(), epochs=EPOCHS, model=None, **options):
    """A program that evaluates."""
    Resume._ended_with.clear()
    model = model or network()
    history = model.fit(
        rows().take(STEPS),
        epochs=epochs,
        shuffle=False,
        validation_data=rows().take(1),
        callbacks=[Resume(folder), *callbacks],
        verbose=0,
        **options,
    )
    return [*model.get_weights()], history.history, history.epoch


class Counting(keras.callbacks.Callback):
    """Raises the learning rate by the steps that it has counted."""

    def __init__(self):
        super().__init__()
        self.state = {"count": 0, "seen": [np.zeros(2)]}

    def get_state(self):
        return self.state

    def set_state(self, state):
        self.state = state

    def on_train_batch_end(self, batch, logs=None):
        self.state["count"] += 1
        self.state["seen"].append(np.full(2, logs["loss"]))
        rate = 0.01 * self.state["count"]
        self.model.optimizer.learning_rate = rate + self.state["seen"][1][0]


def stoppers(folder):
    """Callbacks that change a run by what they remember."""
    return [
        keras.callbacks.ReduceLROnPlateau("val_loss", patience=1, min_delta=9),
        keras.callbacks.EarlyStopping(
            "val_loss", patience=4, min_delta=9, restore_best_weights=True
        ),
        keras.callbacks.ModelCheckpoint(
            folder / "best.weights.h5",
            monitor="val_loss",
            save_best_only=True,
            save_weights_only=True,
        ),
    ]


def files(folder):
    return {path.name for path in folder.rglob("*.weights.h5")}


@pytest.mark.parametrize("place", [(2, 1), (3, STEPS)])
def test_callbacks_of_keras_remember(place, tmp_path):
    ends = []
    for name, *stop in (("whole",), ("parts", Stop(*place))):
        (tmp_path / name).mkdir()
        if stop:
            with pytest.raises(SystemExit):
                learn(tmp_path / name, [*stoppers(tmp_path), *stop], 9)
        ends.append(learn(tmp_path / name, stoppers(tmp_path), 9))
    for one, other in zip(*(end[0] for end in ends), strict=True):
        np.testing.assert_array_equal(one, other)
    assert ends[0][1:] == ends[1][1:]
    # Neither to its end nor with one learning rate.
    assert len(ends[0][2]) == 5 and len(set(ends[0][1]["learning_rate"])) > 2
    # It is over, and the process that is started again ends as the first.
    again = learn(tmp_path / "whole", stoppers(tmp_path), 9)
    for one, other in zip(ends[0][0], again[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert again[1:] == ends[0][1:]


@pytest.mark.parametrize("place", [(1, 1), (1, STEPS)])
def test_averages_that_are_in_the_model_are_no_weights_to_train(
    place, tmp_path
):
    ends = []
    for name, *stop in (("whole",), ("parts", Stop(*place)), ("parts",)):
        model = of_keras(keras.optimizers.SGD(0.5, use_ema=True))
        swap = keras.callbacks.SwapEMAWeights(swap_on_epoch=True)
        with pytest.raises(SystemExit) if stop else contextlib.nullcontext():
            ends.append(learn(tmp_path / name, [swap, *stop], model=model))
    for one, other in zip(ends[0][0], ends[1][0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert ends[0][1:] == ends[1][1:]


def test_callbacks_that_tell_their_state_remember(tmp_path, capsys):
    whole = learn(tmp_path / "whole", [Counting()])
    with pytest.raises(SystemExit):
        learn(tmp_path / "parts", [Counting(), Stop(1, 1)])
    found = learn(tmp_path / "parts", [Counting()])
    for one, other in zip(whole[0], found[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole[1:] == found[1:] and not capsys.readouterr().out
    with pytest.raises(SystemExit):
        learn(tmp_path / "others", [Counting(), Stop(1, 1)])
    learn(tmp_path / "others")
    said = capsys.readouterr().out
    assert "had the callbacks Counting to remember, and has none now" in said


def test_steps_of_one_execution_go_on_together(tmp_path):
    def make():
        model = network(more=False)
        model.compile("adam", "binary_crossentropy", steps_per_execution=2)
        return model

    whole = learn(tmp_path / "whole", model=make())
    with pytest.raises(SystemExit):
        learn(tmp_path / "parts", [Stop(1, 0)], model=make())
    other = make()
    other.steps_per_execution = 3
    with pytest.raises(ValueError, match="`steps_per_execution` must divide"):
        learn(tmp_path / "parts", model=other)
    found = learn(tmp_path / "parts", model=make())
    for one, other in zip(whole[0], found[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole[1:] == found[1:]


def test_fewer_epochs_than_are_done_leave_nothing_to_do(tmp_path):
    model = network()
    whole = learn(tmp_path, model=model)
    seen = Read()
    found = learn(tmp_path, [seen], epochs=2)
    for one, other in zip(whole[0], found[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole[1:] == found[1:] and not seen.seen


def test_more_epochs_go_on_and_leave_the_model_as_it_was_for_others(tmp_path):
    whole = learn(tmp_path / "whole")
    model = network()
    learn(tmp_path / "parts", epochs=1)
    found = learn(tmp_path / "parts", model=model)
    for one, other in zip(whole[0], found[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole[1:] == found[1:]
    # Without the callback, `fit()` is as it was.
    assert model.fit(rows().take(2), shuffle=False, verbose=0).epoch == [0]


def test_fits_of_one_program_follow_each_other(tmp_path):
    def program(folder, *stop):
        Resume._ended_with.clear()
        model, data = network(), rows().take(STEPS).shuffle(STEPS, seed=1)
        for epochs, more in ((2, ()), (4, stop)):
            history = model.fit(
                data,
                epochs=epochs,
                shuffle=False,
                callbacks=[Resume(folder), *more],
                verbose=0,
            )
        return model.get_weights(), history.history

    whole = program(tmp_path / "whole")
    with pytest.raises(SystemExit):
        program(tmp_path / "parts", Stop(3, 1))
    found = program(tmp_path / "parts")
    for one, other in zip(whole[0], found[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole[1] == found[1]


def test_fits_of_one_program_share_a_generator_and_no_shuffled_data(tmp_path):
    """A data set that is repeated goes on from what fits before have read."""

    class Noise(keras.layers.Dense):
        def call(self, inputs):
            draw = tf.random.get_global_generator().normal([1])
            return super().call(inputs) + draw

    def program(folder, *stop, **shuffle):
        Resume._ended_with.clear()
        tf.random.set_global_generator(tf.random.Generator.from_seed(5))
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((3,)), Noise(1)])
        model.compile(keras.optimizers.SGD(0.01), "mse", run_eagerly=True)
        data = rows().shuffle(2, seed=1) if shuffle else rows()
        data = data.repeat()
        for epochs in (1, 2, 3):
            model.fit(
                data,
                epochs=epochs,
                steps_per_epoch=2,
                shuffle=False,
                callbacks=[Resume(folder), *stop],
                verbose=0,
            )
        return model.get_weights()

    with pytest.raises(SystemExit):
        program(tmp_path / "parts", Stop(1, 1))
    found = program(tmp_path / "parts")
    whole = program(tmp_path / "whole")
    np.testing.assert_array_equal(whole[0], found[0])
    with pytest.raises(SystemExit):
        program(tmp_path / "shuffled", Stop(1, 0), shuffle=True)
    with pytest.warns(
        UserWarning, match="a `fit\\(\\)` before, .* has not read"
    ):
        program(tmp_path / "shuffled", shuffle=True)


def test_an_initial_epoch_counts_and_is_not_gone_beyond(tmp_path):
    assert learn(tmp_path, initial_epoch=1)[2] == [1, 2]
    assert RunCheckpoint(tmp_path).epoch == 3
    assert learn(tmp_path, epochs=4, initial_epoch=1)[2] == [1, 2, 3]
    match = "`initial_epoch` must not be after.*initial_epoch=5, and 4 epochs"
    with pytest.raises(ValueError, match=match):
        learn(tmp_path, epochs=9, initial_epoch=5)


def test_two_of_them_in_one_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match="`callbacks` must have one `Resume`"):
        learn(tmp_path, [Resume(tmp_path / "other")])


def test_a_loop_of_another_kind_is_refused(tmp_path):
    model = network()
    callbacks = keras.callbacks.CallbackList(
        [Resume(tmp_path)], model=model, add_history=True
    )
    with pytest.raises(ValueError, match="a callback of `keras.Model.fit"):
        callbacks.on_train_begin()
    # Made by the user, it comes in time all the same.
    history = model.fit(
        rows().take(2), shuffle=False, callbacks=callbacks, verbose=0
    )
    assert RunCheckpoint(tmp_path).epoch == 1 and history.epoch == [0]


TRAINING = """
import sys, keras, numpy as np
from tfcap.training import Resume
class Tell(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print("epoch", flush=True)
        sys.stdin.readline()
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse", run_eagerly=True)
x = np.ones((4, 2))
model.fit(
    x, x[:, :1], epochs=3, shuffle=False, verbose=0,
    callbacks=[Tell(), Resume(sys.argv[1])],
)
"""


@pytest.mark.slow
def test_a_folder_is_of_one_run_at_a_time_and_free_after_a_kill(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", TRAINING, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        for _ in range(2):
            assert process.stdout.readline() == "epoch\n"
            with pytest.raises(ValueError, match="another process trains"):
                learn(tmp_path)
            process.stdin.write("\n")
            process.stdin.flush()
        process.kill()
    assert RunCheckpoint(tmp_path).epoch > 0
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    x = np.ones((4, 2))
    again = [Resume(tmp_path)]
    history = model.fit(
        x, x[:, :1], epochs=3, shuffle=False, verbose=0, callbacks=again
    )
    assert history.epoch == [0, 1, 2]


ROW = np.ones((4, 3), "float32"), np.ones((4, 1), "float32")
#: Its seeds are in a variable.
NOISE = keras.layers.GaussianNoise(0.1, seed=1)
SHUFFLED = {
    "`shuffle\\(\\)` has no seed": lambda: dict(x=rows().shuffle(3)),
    "Keras shuffles arrays": lambda: dict(x=np.ones((4, 3)), y=np.ones(4)),
    "a Python iterable": lambda: dict(x=(row for row in [ROW] * 3)),
    "`deterministic` is off": lambda: dict(x=rows().with_options(unordered())),
    "`deterministic` is off\\. Rows": lambda: dict(
        x=rows().map(
            lambda *row: row, num_parallel_calls=2, deterministic=False
        )
    ),
    "`map\\(num_parallel_calls=...\\)` draws": lambda: dict(
        x=rows().map(
            lambda x, y: (x + tf.random.normal(x.shape), y),
            num_parallel_calls=2,
        )
    ),
    "a function of theirs draws without a seed": lambda: dict(
        x=rows().map(lambda x, y: (x + tf.random.normal(x.shape), y))
    ),
    "a function of theirs draws from a generator": lambda: dict(
        x=rows().map(lambda x, y: (NOISE(x, training=True), y))
    ),
}


def unordered():
    options = tf.data.Options()
    options.deterministic = False
    return options


@pytest.mark.parametrize("words", SHUFFLED)
def test_an_order_that_nobody_can_have_again_is_told(words, tmp_path):
    model = network()
    tf.random.set_seed(None)
    data = SHUFFLED[words]()
    options = {} if "y" in data else {"shuffle": False}
    match = f"cannot be resumed exactly: {words}"
    with pytest.warns(UserWarning, match=match):
        model.fit(
            **data,
            **options,
            steps_per_epoch=1,
            callbacks=[Resume(tmp_path)],
            verbose=0,
        )


@pytest.mark.parametrize("calls, told", [(None, False), (2, True)])
def test_draws_of_python_for_several_rows_at_a_time_are_told(
    calls, told, tmp_path
):
    def noisy(x):
        return x + np.float32(np.random.normal())

    def change(x, y):
        drawn = tf.numpy_function(noisy, [x], x.dtype)
        return tf.ensure_shape(drawn, x.shape), y

    data = rows().map(change, num_parallel_calls=calls)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        resume = Resume(tmp_path)
        network().fit(data, shuffle=False, callbacks=[resume], verbose=0)
    words = "calls functions of Python, and `random` or `numpy.random` draws"
    assert any(words in str(w.message) for w in found) == told
    assert not any("while it is traced" in str(w.message) for w in found)


def test_an_order_of_other_seeds_is_told(tmp_path, capsys):
    def shuffled(seed, *stop):
        data = rows().shuffle(9, seed=seed)
        callbacks = [Resume(tmp_path), *stop]
        network().fit(
            data, epochs=2, shuffle=False, callbacks=callbacks, verbose=0
        )

    with pytest.raises(SystemExit):
        shuffled(1, Stop(0, 2))
    assert not capsys.readouterr().out
    shuffled(2)
    assert "the data are shuffled with the seeds" in capsys.readouterr().out


class Pairs(keras.utils.PyDataset):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return ROW


def arrays(count, size=2, width=3):
    rows = np.ones((count, width), "float32"), np.ones((count, 1), "float32")
    return dict(zip("xy", rows), batch_size=size)


def batches(count, size=2):
    pairs = tf.data.Dataset.from_tensor_slices(
        tuple(arrays(count).values())[:2]
    )
    return dict(x=pairs.batch(size).prefetch(1))


#: Data of the first epoch, of the next, and what is told of them.
OTHERS = {
    "rows": (arrays(6), arrays(7), "steps of an epoch 4 now, and 3 before"),
    "rows of the last batch": (
        arrays(6),
        arrays(5),
        "rows 5 now, and 6 before",
    ),
    "the size of batches": (
        *(arrays(6, 2), arrays(6, 3)),
        "rows of a batch 3 now, and 2 before",
    ),
    "rows of a data set": (batches(6), batches(5), r"rows \[3, 5\] now"),
    "batches of a data set": (batches(6), batches(6, 3), r"\[2, 6\] now"),
    "the types of a data set": (
        batches(6),
        dict(x=batches(6)["x"].map(lambda x, y: (x, tf.cast(y, "float64")))),
        "elements .*float64.* now",
    ),
    "batches of Python": (
        *(dict(x=Pairs(2)), dict(x=Pairs(3))),
        "steps of an epoch 3 now, and 2 before",
    ),
    "steps": (
        *(dict(x=batches(6)["x"].repeat(), steps_per_epoch=n) for n in (2, 3)),
        "steps of an epoch 3 now, and 2 before",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_data_are_told_at_the_start_of_an_epoch(name, tmp_path, capsys):
    first, other, words = OTHERS[name]

    def program(data, epochs):
        Resume._ended_with.clear()
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", run_eagerly=True)
        model.fit(
            **data,
            epochs=epochs,
            shuffle=False,
            callbacks=[Resume(tmp_path)],
            verbose=0,
        )
        return capsys.readouterr().out

    program(first, 1)
    assert "run so far" not in program(first, 2)
    said = program(other, 3)
    assert re.search(f"others than those of the run so far.*{words}", said)
