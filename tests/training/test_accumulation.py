import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tests.training.test_nonfinite import batches
from tests.training.test_nonfinite import prize
from tests.training.test_nonfinite import without
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining
from tfcap.training import Learner
from tfcap.training import ObjectiveModel
from tfcap.training import Resume

REFERENCES = np.array([[[3, 2]], [[2, 0]], [[4, 4]], [[4, 2]]], "int32")
DATA = {"rows": np.zeros((4, 1), "float32"), "references": REFERENCES}


def part(start, stop):
    return {key: value[start:stop] for key, value in DATA.items()}


def one_objective(steps, clipnorm=None, objective=None, **settings):
    model = ObjectiveModel(
        objective or TeacherForcing(),
        tiny.TableSpeaker(),
        global_clipnorm=clipnorm,
        nonfinite="skip",
    )
    return compiled(model, steps, settings)


def game(steps, clipnorm=None, **settings):
    speaker = tiny.TableSpeaker()
    learner = Learner(speaker, TeacherForcing(), clipnorm)
    return compiled(
        JointTraining(speaker, {"speaker": learner}), steps, settings
    )


def compiled(model, steps, settings):
    optimizer = keras.optimizers.Adam(
        0.1, epsilon=1e-3, gradient_accumulation_steps=steps, **settings
    )
    model.compile(optimizer, run_eagerly=True)
    return model


def table(model):
    return model.speaker.get_weights()[0]


@pytest.mark.parametrize("make", [one_objective, game])
@pytest.mark.parametrize(
    "settings",
    [
        {"clipnorm": 0.02},
        {"global_clipnorm": 0.02},
        {"clipvalue": 0.01, "weight_decay": 0.1, "loss_scale_factor": 4.0},
        {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 2},
    ],
)
def test_a_step_of_several_batches_is_that_of_one(make, settings):
    settings = dict(settings)
    # Of the model where an optimizer has `clipnorm`, which is of a variable.
    clipnorm = settings.pop("clipnorm", None)
    whole, parts = (make(k, clipnorm, **settings) for k in (None, 2))
    before = table(parts)
    for _ in range(3):
        whole.train_on_batch(DATA)
        parts.train_on_batch(part(0, 2))
        np.testing.assert_array_equal(table(parts), before)
        parts.train_on_batch(part(2, 4))
        before = table(parts)
        np.testing.assert_allclose(before, table(whole), rtol=1e-4, atol=1e-6)
    whole.finalize_weights()
    parts.finalize_weights()
    np.testing.assert_allclose(table(parts), table(whole), 1e-4, 1e-6)
    assert int(parts.optimizer.iterations) == 3


def test_a_batch_that_is_skipped_is_none_of_the_several():
    data = batches([2.0, np.nan, -1.0])
    model, wanted = (one_objective(2, objective=prize()) for _ in range(2))
    model.fit(data, batch_size=2, shuffle=False, verbose=0)
    wanted.fit(without(data, 1), batch_size=2, shuffle=False, verbose=0)
    np.testing.assert_array_equal(table(model), table(wanted))
    assert (table(model) != tiny.TableSpeaker().get_weights()[0]).any()


def test_a_run_goes_on_in_the_middle_of_an_accumulation(tmp_path):
    def train(folder, epochs):
        model = one_objective(3, 0.1)
        data = tf.data.Dataset.from_tensor_slices(DATA).batch(1)
        model.fit(
            data,
            epochs=epochs,
            shuffle=False,
            callbacks=[Resume(folder)],
            verbose=0,
        )
        return model

    whole = train(tmp_path / "whole", 2)
    stopped = train(tmp_path / "parts", 1)
    # Four batches: one of three is waiting, which the next epoch goes on with.
    assert np.any(stopped.optimizer._accumulated_gradients[0])
    rest = train(tmp_path / "parts", 2)
    for a, b in zip(whole.optimizer.variables, rest.optimizer.variables):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(table(whole), table(rest))
