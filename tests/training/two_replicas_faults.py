"""Two replicas stop at the steps at which one would.

Run by `tests/two_replicas.py`.
"""

import pathlib
import tempfile

import keras
import numpy as np

from tests import tiny
from tests.eager import run_eagerly
from tests.training import stopped
from tests.training.test_joint_training_update import batches
from tests.training.test_joint_training_update import fit
from tests.training.test_joint_training_update import prize
from tests.training.test_joint_training_update import state
from tests.training.test_joint_training_update import without
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining

#: The second replica alone sees it.
DATA = batches([2.0, -1.0, np.nan, 3.0])


def one_objective(optimizer=None):
    model = JointTraining(tiny.TableSpeaker(), prize())
    model.compile(optimizer or keras.optimizers.SGD(0.1, momentum=0.9))
    return model


class Annealed(JointTraining):
    """Logs more than metrics, so that Keras takes logs of replicas' means."""

    def scheduled_values(self):
        return {"rate": keras.ops.convert_to_tensor(0.5)}


def annealed():
    model = Annealed(tiny.TableSpeaker(), prize())
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9))
    return model


def check(found, what):
    print(f"{what}: {'as it must be' if found else 'WRONG'}")
    if not found:
        raise SystemExit(what)


def close(one, other):
    pairs = zip(one.speaker.get_weights(), other.speaker.get_weights())
    return all(np.abs(a - b).max() < 1e-6 for a, b in pairs)


def stops(strategy, make):
    expected = make()
    with run_eagerly():
        fit(expected, without(DATA, 2, 3))
    with strategy.scope():
        model = make()
    try:
        fit(model, DATA)
        told = "nothing"
    except FloatingPointError as error:
        told = str(error)
    check("prize` is nan, after 2 updates" in told, told)
    check(close(model, expected), f"{make.__name__}: weights where it stops")


def scales(strategy):
    """A scaled gradient that overflows on one replica moves neither."""
    with strategy.scope():
        inner = keras.optimizers.SGD(1e-9)
        optimizer = keras.optimizers.LossScaleOptimizer(inner)
        model = one_objective(optimizer)
    before = model.speaker.get_weights()[0]
    fit(model, batches([1e36]))
    check((model.speaker.get_weights()[0] == before).all(), "scaled: weights")
    scale = float(keras.ops.convert_to_numpy(optimizer.dynamic_scale))
    check(scale == 2.0**14, f"scaled: the scale is {scale}")
    fit(model, batches([1.0]))
    check(
        np.isfinite(np.concatenate(state(model), None)).all(), "scaled: after"
    )


def refuses(strategy, name, options, **settings):
    with strategy.scope():
        model = JointTraining(tiny.TableSpeaker(), TeacherForcing())
        optimizer = keras.optimizers.SGD(**settings)
    try:
        model.compile(optimizer, **options)
        told = "nothing"
    except ValueError as error:
        told = str(error)
    check(told.startswith(f"`{name}`"), f"{name}: {told}")


def check_all(strategy):
    stops(strategy, one_objective)
    stops(strategy, annealed)
    scales(strategy)
    refuses(strategy, "clipnorm", {}, clipnorm=1.0)
    refuses(strategy, "steps_per_execution", {"steps_per_execution": 2})
    with tempfile.TemporaryDirectory() as folder:
        with strategy.scope():
            stopped.goes_on(pathlib.Path(folder))
