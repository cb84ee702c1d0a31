import functools

import keras
import numpy as np
import pytest

from tests import tiny
from tests.testing import same
from tests.training.test_joint_training import DATA
from tests.training.test_joint_training import game
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining

known = keras.callbacks


def of_one(**options):
    model = JointTraining(tiny.TableSpeaker(0), TeacherForcing())
    model.compile(keras.optimizers.SGD(0.5, **options), run_eagerly=True)
    return model


def of_several(turns=1, **options):
    """A model of two learners, the second of which scales its loss."""

    def scaled():
        inner = keras.optimizers.SGD(0.25, **options)
        return keras.optimizers.LossScaleOptimizer(inner, initial_scale=1.0)

    plain = functools.partial(keras.optimizers.SGD, 0.5, **options)
    turns = (turns, 0), (1, 0)
    return game(optimizers=(plain, scaled), turns=turns, run_eagerly=True)


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
    name = "loss" if len(model.learners) == 1 else "g/loss"
    return {"monitor": f"val_{name}", "mode": "min"}


def backs_up(model, folder, again):
    fit(model, [known.BackupAndRestore(folder, delete_checkpoint=False)])
    seen = []
    look = known.LambdaCallback(on_epoch_begin=lambda n, _: seen.append(n))
    fit(again, [known.BackupAndRestore(folder), look], epochs=3)
    fit(model, [], epochs=1)
    assert seen == [2]
    assert {int(o.iterations) for o in of_each(again)} == {3}
    same(tables_of(model), tables_of(again))


def stops_early(model, folder, again):
    options = {"min_delta": 99.0, "patience": 1, "restore_best_weights": True}
    fit(model, [known.EarlyStopping(**loss_of(model), **options)], epochs=4)
    assert [int(o.iterations) for o in of_each(model)][0] == 2
    fit(again, [], epochs=1)
    same(tables_of(model), tables_of(again))


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


def reduces(model, folder, again):
    before = rates_of(model)
    worse = {**loss_of(model), "min_delta": 99.0, "patience": 1}
    fit(model, [known.ReduceLROnPlateau(**worse, factor=0.5)])
    np.testing.assert_allclose(rates_of(model), np.divide(before, 2))


def swaps(model, folder, again):
    seen = []
    swap = known.SwapEMAWeights(swap_on_epoch=True)
    look = known.LambdaCallback(
        on_epoch_end=lambda *_: seen.append(tables_of(model))
    )
    fit(model, [swap, look])
    # What is seen behind it is what the run ends with: the averages.
    same(seen[-1], tables_of(model))
    each = [o._model_variables_moving_average for o in of_each(model)]
    same(sum(each, []), tables_of(model), 1e-5)


def shows(model, folder, again):
    options = {"histogram_freq": 1, "update_freq": 1, "profile_batch": 1}
    board = known.TensorBoard(folder, write_steps_per_second=True, **options)
    fit(model, [board])
    assert list(folder.rglob("*events*"))


CALLBACKS = {
    "BackupAndRestore": backs_up,
    "EarlyStopping": stops_early,
    "LearningRateScheduler": schedules,
    "ModelCheckpoint": keeps_weights,
    "ReduceLROnPlateau": reduces,
    "SwapEMAWeights": swaps,
    "TensorBoard": shows,
}


@pytest.mark.parametrize("make", [of_one, of_several])
@pytest.mark.parametrize("name", CALLBACKS)
def test_a_callback_of_keras_has_all_learners(name, make, tmp_path):
    averages = {"use_ema": True, "ema_momentum": 0.5}
    options = averages if name == "SwapEMAWeights" else {}
    CALLBACKS[name](*(make(**options), tmp_path, make(**options)))


def test_the_optimizer_of_several_counts_the_steps_of_whom_has_most():
    model = of_several(turns=2)
    for steps in (1, 2, 3):
        fit(model, [], epochs=1)
        assert int(model.optimizer.iterations) == steps
    assert [int(o.iterations) for o in of_each(model)] == [2, 3]
    with pytest.raises(AttributeError, match="individual sub-optimizers"):
        print(model.optimizer.learning_rate)
