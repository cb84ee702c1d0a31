import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import Episode
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.objectives.score_function import SupervisedLoss
from tfcap.rewards import ConstantReward
from tfcap.training import JointTraining
from tfcap.training import Learner

REFERENCES = np.array([[[3, 2]], [[2, 0]], [[4, 4]], [[0, 0]]], "int32")
DATA = {"rows": np.zeros((4, 1), "float32"), "references": REFERENCES}


class Counting(Sample):
    """Counts how often it decodes."""

    calls = 0

    def decode(self, *args, **kwargs):
        type(self).calls += 1
        return super().decode(*args, **kwargs)


def judged_by(critic):
    """A loss that hangs on both learners."""

    def losses(episode):
        scores = episode.log_probs(episode.references)[..., 0]
        return scores * keras.ops.sum(critic.table * critic.table)

    return SupervisedLoss(losses, "judged")


def game(rates=(0.5, 0.25), clipnorms=(None, None)):
    speaker, critic = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    objectives = TeacherForcing(), judged_by(critic)
    learners = {
        name: Learner(network, objective, clipnorm)
        for name, network, objective, clipnorm in zip(
            ("g", "d"), (speaker, critic), objectives, clipnorms
        )
    }
    model = JointTraining(speaker, learners)
    model.compile(
        {n: keras.optimizers.SGD(rate) for n, rate in zip("gd", rates)}
    )
    return model


def gradient(model, name):
    """Of a learner's own objective, for its own table."""
    learner = model.learners[name]
    with tf.GradientTape() as tape:
        loss, _ = learner.objective.loss(Episode(model.speaker, DATA))
    return loss, tape.gradient(loss, learner.network.table.value).numpy()


def test_an_evaluation_weighs_rows_alike_whatever_the_batches():
    model = game()
    data = {"rows": np.zeros((3, 1)), "references": REFERENCES[:3]}
    whole, parts = (
        model.evaluate(data, batch_size=size, verbose=0) for size in (3, 2)
    )
    np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ready", [False, True])
def test_best_weights_are_restored_after_averages_are_taken(ready):
    model = game()
    model.compile({n: keras.optimizers.SGD(0.5, use_ema=True) for n in "gd"})
    seen = []
    look = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: seen.append(model.networks[0].get_weights()[0])
    )
    stop = keras.callbacks.EarlyStopping(
        *("d_judged", 99.0, 1, 0, "max"), restore_best_weights=True
    )
    callbacks = [stop, look]
    if ready:
        callbacks = keras.callbacks.CallbackList(callbacks, True, model=model)
    model.fit(DATA, batch_size=4, epochs=3, verbose=0, callbacks=callbacks)
    assert len(seen) == 2
    np.testing.assert_array_equal(model.networks[0].get_weights()[0], seen[0])


@pytest.mark.parametrize("clipnorm", [None, 0.01])
def test_each_steps_on_its_own_objective_from_the_same_state(clipnorm):
    model = game(clipnorms=(clipnorm, None))
    slopes = {name: gradient(model, name) for name in model.learners}
    before = [p.network.get_weights()[0] for p in model.learners.values()]
    logs = model.train_on_batch(DATA, return_dict=True)
    for name, rate, start in zip(model.learners, (0.5, 0.25), before):
        loss, slope = slopes[name]
        if name == "g" and clipnorm:
            slope = slope * clipnorm / np.linalg.norm(slope)
        moved = model.learners[name].network.get_weights()[0] - start
        np.testing.assert_allclose(moved, -rate * slope, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(
            logs[f"{name}_loss"], loss, rtol=1e-5, atol=1e-6
        )


def test_what_is_said_is_said_once():
    speaker, critic = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    sample = Counting(Categorical(seed=0), max_length=2)

    def losses(episode):
        said = episode.rollout(sample).mask[..., 0]
        return said * keras.ops.sum(critic.table)

    learners = {
        "g": Learner(
            speaker,
            ScoreFunction(ConstantReward(), sample),
        ),
        "d": Learner(
            critic,
            SupervisedLoss(losses, "fakes", (sample,)),
        ),
    }
    model = JointTraining(speaker, learners)
    optimizers = {name: keras.optimizers.SGD(0.1) for name in learners}
    model.compile(optimizers, run_eagerly=True)
    Counting.calls = 0
    for _ in range(3):
        model.train_on_batch(DATA)
    assert Counting.calls == 3
    assert model.channels == [sample.channel]


def test_logs_are_named_by_player_and_averaged_over_an_epoch():
    model = game(rates=(0.0, 0.0))
    data = tf.data.Dataset.from_tensor_slices(DATA).batch(2)
    history = model.fit(data, epochs=2, shuffle=False, verbose=0).history
    names = {"g_loss", "g_teacher_forcing", "d_loss", "d_judged"}
    assert set(history) == names
    said = model.evaluate(data, verbose=0, return_dict=True)
    for name in names:
        np.testing.assert_allclose(
            history[name], said[name], rtol=1e-5, atol=1e-6
        )
    np.testing.assert_allclose(
        history["g_loss"], history["g_teacher_forcing"], rtol=1e-6, atol=1e-6
    )


def test_a_player_with_a_scaled_loss_takes_the_same_step():
    plain, scaled = game(), game()
    own = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.5))
    learners = dict(scaled.learners)
    learners["g"] = learners["g"]._replace(global_clipnorm=0.01)
    scaled, other = (
        JointTraining(scaled.speaker, learners),
        scaled.optimizer_of("d"),
    )
    scaled.compile({"g": own, "d": other})
    plain.learners["g"] = plain.learners["g"]._replace(global_clipnorm=0.01)
    for model in (plain, scaled):
        model.train_on_batch(DATA)
    np.testing.assert_allclose(
        plain.speaker.get_weights()[0],
        scaled.speaker.get_weights()[0],
        rtol=1e-5,
        atol=1e-6,
    )


def test_networks_and_optimizers_are_kept_in_the_model():
    model = game()
    held = {id(v) for v in model.variables}
    for learner in model.learners.values():
        assert {id(v) for v in learner.network.variables} <= held
    assert all(optimizer.built for optimizer in model.optimizers)
    assert not model.supports_jit


def test_a_player_without_weights_is_refused_by_name():
    unbuilt = keras.Sequential([keras.layers.Dense(2)])
    learner = Learner(unbuilt, TeacherForcing())
    with pytest.raises(ValueError, match="Learner `d` must be built"):
        JointTraining(tiny.TableSpeaker(), {"d": learner})
