"""Turns, and objectives that learners share."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tests.training.test_joint_training import DATA
from tests.training.test_joint_training import judged_by
from tfcap.objectives import Episode
from tfcap.objectives import TeacherForcing
from tfcap.objectives.score_function import SupervisedLoss
from tfcap.training import JointTraining
from tfcap.training import Learner


class Counted(SupervisedLoss):
    """Counts how often it is computed."""

    def __init__(self, term):
        super().__init__(term.per_sample_loss, term.name)
        self.calls = 0

    def per_sample_loss(self, episode):
        self.calls += 1
        return self.function(episode)


def optimizer(rate=0.1):
    # Momentum moves a network on when its gradient is 0.
    return keras.optimizers.SGD(rate, momentum=0.9)


def alternating(every=(2, 2), offsets=(0, 1), **arguments):
    speaker, critic = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    terms = Counted(TeacherForcing()), Counted(judged_by(critic))
    learners = {
        name: Learner(network, term, every=every[i], offset=offsets[i])
        for i, (name, network, term) in enumerate(
            zip(("g", "d"), (speaker, critic), terms)
        )
    }
    model = JointTraining(speaker, learners)
    model.compile({name: optimizer() for name in learners}, **arguments)
    return model


def weights(model):
    return [p.network.get_weights()[0] for p in model.learners.values()]


def train(model):
    """Trains on a batch; returns who moved."""
    before = weights(model)
    model.train_on_batch(DATA)
    pairs = zip(model.learners, before, weights(model))
    return [name for name, a, b in pairs if (a != b).any()]


@pytest.mark.parametrize("eager", [False, True])
def test_players_that_alternate_move_one_after_the_other(eager):
    model = alternating(run_eagerly=eager)
    assert [train(model) for _ in range(5)] == [["g"], ["d"]] * 2 + [["g"]]
    steps = [int(own.iterations) for own in model.optimizers]
    assert steps == [3, 2] and int(model.turn) == 5


def test_turns_follow_every_and_offset():
    model = alternating(every=(1, 3), offsets=(0, 2))
    moved = [train(model) for _ in range(7)]
    assert [i for i, who in enumerate(moved) if who != ["g"]] == [2, 5]
    assert moved[2] == moved[5] == ["g", "d"]


def test_a_turn_is_the_step_of_a_game_of_the_one_player():
    model = alternating()
    train(model)
    learner, other = model.learners["d"], model.learners["g"]
    alone = tiny.TableSpeaker(1)
    single = JointTraining(
        other.network,
        {"d": Learner(alone, judged_by(alone))},
    )
    single.compile(optimizer())
    train(model), train(single)
    np.testing.assert_array_equal(
        learner.network.get_weights()[0], alone.get_weights()[0]
    )


def test_whose_turn_it_is_not_is_not_computed():
    model = alternating(run_eagerly=True)
    for _ in range(5):
        train(model)
    terms = [p.objective for p in model.learners.values()]
    assert [term.calls for term in terms] == [3, 2]
    model.test_on_batch(DATA)
    assert [term.calls for term in terms] == [4, 3]


def test_every_set_of_players_is_traced_once():
    model = alternating(every=(2, 1), offsets=(1, 0))
    for _ in range(6):
        train(model)
    terms = [p.objective for p in model.learners.values()]
    assert [term.calls for term in terms] == [1, 2]


def test_turns_go_on_from_epoch_to_epoch():
    model = alternating()
    data = tf.data.Dataset.from_tensors(DATA).repeat(3)
    history = model.fit(data, epochs=2, shuffle=False, verbose=0).history
    assert int(model.turn) == 6
    assert [int(own.iterations) for own in model.optimizers] == [3, 3]
    # The speaker's first epoch had two turns, its second one.
    assert all(value > 0 for value in history["g_teacher_forcing"])
    assert model.learners["g"].objective.calls == 1


def gradient_calls(monkeypatch):
    calls = []
    own = tf.GradientTape.gradient

    def gradient(self, target, sources, *args, **kwargs):
        calls.append(len(sources))
        return own(self, target, sources, *args, **kwargs)

    monkeypatch.setattr(tf.GradientTape, "gradient", gradient)
    return calls


def both(objective_of, optimizers):
    speaker, critic = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    objectives = objective_of(critic)
    learners = {
        name: Learner(network, objective, clipnorm)
        for name, network, objective, clipnorm in zip(
            "gd", (speaker, critic), objectives, (0.05, None)
        )
    }
    model = JointTraining(speaker, learners)
    model.compile(dict(zip("gd", optimizers)), run_eagerly=True)
    return model


def apart(critic):
    return Counted(judged_by(critic)), Counted(judged_by(critic))


def shared(critic):
    return (Counted(judged_by(critic)),) * 2


def scaled(rate):
    return keras.optimizers.LossScaleOptimizer(
        optimizer(rate), initial_scale=2.0**rate
    )


@pytest.mark.parametrize("make, passes", [(optimizer, 1), (scaled, 2)])
def test_players_of_one_objective_share_its_loss(make, passes, monkeypatch):
    rates = 0.1, 0.2
    two = both(apart, map(make, rates))
    one = both(shared, map(make, rates))
    calls = gradient_calls(monkeypatch)
    for _ in range(3):
        expected = two.train_on_batch(DATA, return_dict=True)
        done = len(calls)
        found = one.train_on_batch(DATA, return_dict=True)
        assert len(calls) - done == passes
        assert found.keys() == expected.keys()
        for name in found:
            np.testing.assert_allclose(
                found[name], expected[name], rtol=1e-6, atol=1e-6
            )
    for a, b in zip(weights(one), weights(two)):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    assert one.learners["g"].objective.calls == 3


def test_penalties_stay_with_the_player_whose_weights_they_are_on():
    two, one = (both(of, (optimizer(), optimizer())) for of in (apart, shared))
    for model in (two, one):
        for learner in model.learners.values():
            learner.network.table.regularizer = keras.regularizers.L2(0.3)
        logs = model.train_on_batch(DATA, return_dict=True)
        assert logs["g_loss"] != logs["d_loss"]
    for a, b in zip(weights(one), weights(two)):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "turn", [(0, 0), (-1, 0), (2, 2), (2, -1), (2.0, 0), (2, 0.5)]
)
def test_a_turn_that_never_comes_is_refused(turn):
    every, offset = turn
    match = f"Learner `d`.*Received: every={every}, offset={offset}"
    with pytest.raises(ValueError, match=match):
        alternating((1, every), (0, offset))


def test_a_turn_of_nobody_is_refused():
    with pytest.raises(ValueError, match="none at turn 1 of 4"):
        alternating((2, 4), (0, 3))


def test_several_steps_at_once_are_refused_where_players_take_turns():
    with pytest.raises(ValueError, match="`steps_per_execution` must be 1"):
        alternating(steps_per_execution=2)
    alternating((1, 1), (0, 0), steps_per_execution=2)


def test_evaluation_sees_all_players_at_any_turn():
    model = alternating()
    first = model.evaluate(DATA, verbose=0, return_dict=True)
    wanted, _ = model.learners["d"].objective.loss(Episode(model.speaker, DATA))
    np.testing.assert_allclose(first["d_loss"], wanted, rtol=1e-5, atol=1e-6)
    assert int(model.turn) == 0
