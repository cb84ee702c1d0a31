import http.server
import inspect
import json
import threading

import keras
import numpy as np
import pytest

from tests import tiny
from tests.training.test_joint_training import DATA
from tests.training.test_joint_training import judged_by
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining
from tfcap.training import Learner
from tfcap.training import ObjectiveModel
from tfcap.training import Resume

known = keras.callbacks


def of_one(nonfinite="raise", **options):
    model = ObjectiveModel(
        TeacherForcing(), tiny.TableSpeaker(0), nonfinite=nonfinite
    )
    model.compile(keras.optimizers.SGD(0.5, **options), run_eagerly=True)
    return model


def of_several(rates=(0.5, 0.25), turns=1, nonfinite="raise", **options):
    """A model of two learners, the second of which scales its loss."""
    speaker, critic = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    learners = {
        "g": Learner(speaker, TeacherForcing(), every=turns),
        "d": Learner(critic, judged_by(critic)),
    }
    model = JointTraining(speaker, learners, nonfinite=nonfinite)
    g, d = (keras.optimizers.SGD(rate, **options) for rate in rates)
    d = keras.optimizers.LossScaleOptimizer(d, initial_scale=1.0)
    model.compile({"g": g, "d": d}, run_eagerly=True)
    return model


def of_each(model):
    """The optimizers of the learners, without what scales their losses."""
    own = getattr(model.optimizer, "optimizers", [model.optimizer])
    return [getattr(o, "inner_optimizer", o) for o in own]


def rates_of(model):
    return [float(o.learning_rate) for o in of_each(model)]


def tables_of(model):
    return [np.array(v) for v in model.trainable_variables]


def fit(model, callbacks, epochs=2):
    data = {"validation_data": (DATA,), "batch_size": 4, "verbose": 0}
    return model.fit(DATA, epochs=epochs, callbacks=callbacks, **data).history


def loss_of(model):
    """The name of a loss, of which Keras knows the direction or is told."""
    name = "loss" if isinstance(model, ObjectiveModel) else "g_loss"
    return {"monitor": f"val_{name}", "mode": "min"}


def backs_up(model, folder, again):
    fit(model, [known.BackupAndRestore(folder, delete_checkpoint=False)])
    seen = []
    look = known.LambdaCallback(on_epoch_begin=lambda n, _: seen.append(n))
    fit(again, [known.BackupAndRestore(folder), look], epochs=3)
    fit(model, [], epochs=1)
    assert seen == [2]
    assert [int(o.iterations) for o in of_each(again)] == [3] * len(
        of_each(again)
    )
    for one, other in zip(tables_of(model), tables_of(again)):
        np.testing.assert_array_equal(one, other)


def writes_lines(model, folder, again):
    fit(model, [known.CSVLogger(folder / "log.csv")])
    first, *lines = (folder / "log.csv").read_text().splitlines()
    assert loss_of(model)["monitor"] in first.split(",") and len(lines) == 2


def stops_early(model, folder, again):
    options = {"min_delta": 99.0, "patience": 1, "restore_best_weights": True}
    fit(model, [known.EarlyStopping(**loss_of(model), **options)], epochs=4)
    assert [int(o.iterations) for o in of_each(model)][0] == 2
    fit(again, [], epochs=1)
    for one, other in zip(tables_of(model), tables_of(again)):
        np.testing.assert_array_equal(one, other)


def calls(model, folder, again):
    fit(model, [known.LambdaCallback(on_epoch_end=lambda *_: None)])


def schedules(model, folder, again):
    before = rates_of(model)
    by_epoch = known.LearningRateScheduler(lambda epoch, rate: rate / 2)
    logs = fit(model, [by_epoch])
    np.testing.assert_allclose(rates_of(model), np.divide(before, 4))
    named = [k for k in logs if k.startswith("learning_rate")]
    assert [logs[name][-1] for name in named] == rates_of(model)
    fit(model, [known.LearningRateScheduler(lambda epoch: 0.125)])
    assert rates_of(model) == [0.125] * len(before)


def keeps_weights(model, folder, again):
    path = folder / "kept.weights.h5"
    options = {"save_weights_only": True, "save_best_only": True}
    fit(model, [known.ModelCheckpoint(path, **options, **loss_of(model))])
    again.load_weights(path)
    assert int(of_each(again)[-1].iterations) == 2
    with pytest.raises(NotImplementedError, match="speaker.save"):
        fit(model, [known.ModelCheckpoint(folder / "whole.keras")])


def keeps_a_tree(model, folder, again):
    tree = model.get_state_tree()["optimizer_variables"]
    assert {o.name for o in of_each(model)} <= set(tree)
    try:
        keep = known.OrbaxCheckpoint(folder, save_weights_only=True)
    except ImportError as error:
        # Keras says itself what to install.
        assert "orbax" in str(error)
    else:
        fit(model, [keep])


def reduces(model, folder, again):
    before = rates_of(model)
    worse = {**loss_of(model), "min_delta": 99.0, "patience": 1}
    fit(model, [known.ReduceLROnPlateau(**worse, factor=0.5)])
    np.testing.assert_allclose(rates_of(model), np.divide(before, 2))


def reports(model, folder, again):
    posted = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            size = int(self.headers["Content-Length"])
            posted.append(json.loads(self.rfile.read(size)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}"
        fit(model, [known.RemoteMonitor(root, send_as_json=True)])
        server.shutdown()
    assert [one["epoch"] for one in posted] == [0, 1]


def swaps(model, folder, again):
    seen = []
    swap = known.SwapEMAWeights(swap_on_epoch=True)
    look = known.LambdaCallback(
        on_epoch_end=lambda *_: seen.append(tables_of(model))
    )
    fit(model, [swap, look])
    # What is seen behind it is what the run ends with: the averages.
    for last, table, average in zip(
        seen[-1],
        tables_of(model),
        [v for o in of_each(model) for v in o._model_variables_moving_average],
    ):
        np.testing.assert_array_equal(last, table)
        np.testing.assert_allclose(average, table, rtol=1e-5)


def shows(model, folder, again):
    options = {"histogram_freq": 1, "update_freq": 1, "profile_batch": 1}
    board = known.TensorBoard(folder, write_steps_per_second=True, **options)
    fit(model, [board])
    assert list(folder.rglob("*events*"))


def ends_at_nan(model, folder, again):
    fit(model, [known.TerminateOnNaN()])
    model.nonfinite = "ignore"
    if "loss" in [metric.name for metric in model.metrics]:
        fit(model, [known.TerminateOnNaN()])
    else:
        with pytest.raises(ValueError, match='`nonfinite` must be "raise"'):
            fit(model, [known.TerminateOnNaN()])


#: Every callback of Keras; one that is new must be listed.
CALLBACKS = {
    "BackupAndRestore": backs_up,
    "CSVLogger": writes_lines,
    "EarlyStopping": stops_early,
    "LambdaCallback": calls,
    "LearningRateScheduler": schedules,
    "ModelCheckpoint": keeps_weights,
    "OrbaxCheckpoint": keeps_a_tree,
    "ReduceLROnPlateau": reduces,
    "RemoteMonitor": reports,
    "SwapEMAWeights": swaps,
    "TensorBoard": shows,
    "TerminateOnNaN": ends_at_nan,
}
#: Those that `fit()` adds itself, and what others derive from.
OF_FIT = {"Callback", "CallbackList", "History", "ProgbarLogger"}


def test_every_callback_of_keras_is_listed():
    classes = dict(inspect.getmembers(known, inspect.isclass))
    assert set(classes) == {*CALLBACKS, *OF_FIT}


@pytest.mark.parametrize("make", [of_one, of_several])
@pytest.mark.parametrize("name", CALLBACKS)
def test_a_callback_of_keras_has_all_learners(name, make, tmp_path):
    averages = {"use_ema": True, "ema_momentum": 0.5}
    options = averages if name == "SwapEMAWeights" else {}
    CALLBACKS[name](*(make(**options), tmp_path, make(**options)))


#: What callbacks of others do with the optimizer of a model.
IDIOMS = {
    "set": lambda optimizer, rate: setattr(optimizer, "learning_rate", rate),
    "assigned": lambda o, rate: o.learning_rate.assign(rate),
    "less": lambda o, rate: o.learning_rate.assign_sub(o.learning_rate - rate),
    "twice": lambda o, rate: [
        setattr(o, "learning_rate", x) for x in (0.0, rate)
    ],
}


@pytest.mark.parametrize("idiom", IDIOMS)
@pytest.mark.parametrize("rates", [(0.5, 0.25), (0.5, 0.5)])
def test_a_rate_that_is_set_scales_those_of_all_learners(rates, idiom):
    model = of_several(rates)
    IDIOMS[idiom](model.optimizer, 0.125)
    np.testing.assert_allclose(rates_of(model), np.divide(rates, 4), rtol=1e-6)
    # Of each learner, one may set its own.
    model.optimizers[1].learning_rate = 1.0
    assert float(model.optimizer.learning_rate) == 0.125
    model.optimizer.learning_rate *= 2
    np.testing.assert_allclose(rates_of(model), [0.25, 2.0], rtol=1e-6)


def test_other_callbacks_read_the_optimizer_of_several():
    model = of_several(turns=2)
    rates, steps = [], []

    class Reads(known.Callback):
        def on_train_begin(self, logs=None):
            config = self.model.optimizer.get_config()
            assert config["g"]["config"]["learning_rate"] == 0.5

        def on_train_batch_end(self, batch, logs=None):
            optimizer = self.model.optimizer
            assert isinstance(optimizer, keras.optimizers.Optimizer)
            assert hasattr(optimizer, "learning_rate")
            rates.append(optimizer.learning_rate.numpy().item())
            rates.append(float(optimizer.learning_rate))
            steps.append(int(optimizer.iterations))

    fit(model, [Reads()], epochs=3)
    assert rates == [0.5] * 6 and steps == [1, 2, 3]
    assert [int(o.iterations) for o in of_each(model)] == [2, 3]


def test_a_rate_that_was_set_comes_back_in_a_run_that_goes_on(tmp_path):
    halve = known.LearningRateScheduler(lambda epoch, rate: rate / 2)
    whole, stopped, rest = (of_several() for _ in range(3))
    fit(whole, [halve], epochs=3)
    fit(stopped, [halve, Resume(tmp_path)], epochs=2)
    fit(rest, [halve, Resume(tmp_path)], epochs=3)
    assert rates_of(rest) == rates_of(whole) == [0.0625, 0.03125]
    for one, other in zip(tables_of(whole), tables_of(rest)):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def scheduled():
    rate = keras.optimizers.schedules.CosineDecay(0.1, 10)
    return of_several((0.5, rate))


REFUSED = {
    "whole": (
        *(of_several, lambda: known.ModelCheckpoint("whole.keras")),
        *(NotImplementedError, "`training.speaker.save"),
    ),
    "whole of one": (
        *(of_one, lambda: known.ModelCheckpoint("whole.keras")),
        *(NotImplementedError, "`training.speaker.save"),
    ),
    "no averages": (
        *(of_one, known.SwapEMAWeights),
        *(ValueError, "`use_ema` of an optimizer must be True"),
    ),
    "no averages of several": (
        *(of_several, known.SwapEMAWeights),
        *(ValueError, "`use_ema` of an optimizer must be True"),
    ),
    "a schedule": (
        *(scheduled, lambda: known.LearningRateScheduler(lambda epoch: 0.1)),
        *(ValueError, "`learning_rate` must be a number for LearningRateSche"),
    ),
    "a schedule on a plateau": (
        *(scheduled, lambda: known.ReduceLROnPlateau("g_loss", mode="min")),
        *(ValueError, "`learning_rate` must be a number for ReduceLROnPlat"),
    ),
    "no one loss": (
        *(of_several, known.EarlyStopping),
        *(ValueError, "monitor='val_loss', where .* 'val_speaker_loss'"),
    ),
    "no direction": (
        *(of_one, lambda: known.EarlyStopping("val_teacher_forcing")),
        *(ValueError, "`mode` of EarlyStopping must be 'min' or 'max'"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("ready", [False, True])
def test_a_callback_that_cannot_work_is_refused_at_the_start(name, ready):
    make, callback, error, told = REFUSED[name]
    model, callbacks = make(), [callback()]
    if ready:
        callbacks = known.CallbackList(callbacks, model=model)
    before = tables_of(model)
    with pytest.raises(error, match=told):
        fit(model, callbacks)
    for one, other in zip(before, tables_of(model)):
        np.testing.assert_array_equal(one, other)
