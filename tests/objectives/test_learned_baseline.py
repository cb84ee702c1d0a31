"""A network that expects what a speaker will be worth."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.objectives.test_score_function import Worth
from tests.objectives.test_score_function import estimates
from tests.objectives.test_score_function import exact_gradient
from tests.training.resumed import restore
from tests.training.resumed import save
from tfcap.decoding import Rollout
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import Episode
from tfcap.objectives import LearnedBaseline
from tfcap.objectives import MonteCarlo
from tfcap.objectives import ScoreFunction
from tfcap.training import JointTraining
from tfcap.training import Learner


class Mindful(tiny.TableSpeaker):
    """Its state is the word that it has read."""

    def begin(self, inputs, training=False):
        return [ops.zeros((ops.shape(inputs["rows"])[0], tiny.VOCABULARY))]

    def step(self, words, state, training=False):
        logits, _ = super().step(words, state, training)
        return logits, [ops.one_hot(words, tiny.VOCABULARY)]


def decoder(num_samples=1, length=2):
    return Sample(
        Categorical(seed=5), num_samples, max_length=length, keep_states=True
    )


def learned(units=(), **options):
    keras.utils.set_random_seed(0)
    return LearnedBaseline(tiny.VOCABULARY, units, **options)


def fitted(samples, baseline, speaker, credit=None, steps=300):
    objective = ScoreFunction(Worth(), samples, baseline, credit=credit)
    learner = Learner(baseline.network, objective)
    model = JointTraining(speaker, {"baseline": learner})
    model.compile(keras.optimizers.Adam(0.05))
    before = speaker.get_weights()
    data = tf.data.Dataset.from_tensors(tiny.batch(200)).repeat(steps)
    model.fit(data, epochs=1, verbose=0, shuffle=False)
    np.testing.assert_array_equal(speaker.get_weights(), before)
    return objective


def test_states_are_those_in_which_words_are_drawn():
    speaker, samples = Mindful(2), decoder(2, 3)
    said = samples.decode(speaker, speaker.begin(tiny.batch(4)))
    tokens = np.array(said.tokens)
    states = np.array(said.states)
    assert states.shape == (4, 2, 3, tiny.VOCABULARY)
    read = np.concatenate(
        [np.full((4, 2, 1), tiny.BOS), tokens[..., :-1]], axis=-1
    )
    there = np.array(said.mask) > 0
    np.testing.assert_array_equal(states.argmax(-1)[there], read[there])


def test_the_mean_gradient_stays_the_exact_one():
    speaker, samples = Mindful(2), decoder(3)
    # Far from what it should be: it costs no expectation even so.
    baseline = learned()
    baseline.network.layers[-1].bias.assign([2.0])
    found = estimates(speaker, ScoreFunction(Worth(), samples, baseline))
    error = found.std(0, ddof=1) / np.sqrt(len(found))
    gap = np.abs(found.mean(0) - exact_gradient(speaker))
    assert (gap <= 4.5 * error + 1e-6).all()
    assert error.max() < 0.03 * np.abs(exact_gradient(speaker)).max()


def test_fitted_alone_it_expects_what_beginnings_are_worth():
    speaker, samples = Mindful(2), decoder(4)
    baseline = learned()
    fitted(samples, baseline, speaker)
    table = ops.convert_to_numpy(speaker.table)
    captions = tiny.captions(2)
    p = np.array([tiny.probability(table, c) for c in captions])
    mask = (captions > 0).astype("float32")
    worth = np.array(Worth()(Rollout(captions[None], mask[None]), None))[0]
    episode = Episode(speaker, tiny.batch(50))
    rollout = episode.rollout(samples)
    values = np.array(baseline(None, episode.scoring(rollout)))
    tokens = np.array(rollout.tokens)
    np.testing.assert_allclose(values[..., 0], (p * worth).sum(), atol=0.25)
    for first in (3, 4):
        begins = captions[:, 0] == first
        expected = (p * worth)[begins].sum() / p[begins].sum()
        at = values[..., 1][tokens[..., 0] == first]
        np.testing.assert_allclose(at, expected, atol=0.25)


def test_it_quietens_the_gradient():
    class MostlyGood(Worth):
        def call(self, rollout, episode):
            return 5.0 + super().call(rollout, episode)

    def noise(make):
        speaker, samples = Mindful(2), decoder(1)
        baseline = make(samples, speaker)
        objective = ScoreFunction(MostlyGood(), samples, baseline)
        return estimates(speaker, objective, repeats=30).var(0).sum()

    def trained(samples, speaker):
        baseline = learned()
        fitted(samples, baseline, speaker)
        bias = baseline.network.layers[-1].bias
        bias.assign(bias + 5.0)
        return baseline

    assert noise(trained) < 0.3 * noise(lambda *_: None)


def test_the_speaker_does_not_feel_its_loss():
    speaker, samples = Mindful(2), decoder(2)
    baseline = learned((6,), weight=3.0)

    def gradient(baseline):
        objective = ScoreFunction(Worth(), samples, baseline)
        episode = Episode(speaker, tiny.batch(8))
        with tf.GradientTape(persistent=True) as tape:
            rollout = episode.rollout(samples)
            rewards = Worth()(rollout, episode)
            values = baseline(rewards, episode.scoring(rollout))
            loss = ops.sum(baseline.losses(rewards, values, rollout.mask))
        assert objective.layers()[-1] is baseline.network
        return [
            tape.gradient(loss, network.trainable_variables[0].value)
            for network in (speaker, baseline.network)
        ]

    of_speaker, own = gradient(baseline)
    assert of_speaker is None
    assert np.abs(np.array(own)).max() > 0


def test_it_is_fitted_alone_and_then_beside_the_speaker(tmp_path):
    speaker, samples = Mindful(2), decoder(4)
    baseline = learned((6,))
    objective = ScoreFunction(Worth(), samples, baseline)
    data = tf.data.Dataset.from_tensors(tiny.batch(100)).repeat(60)

    def train(game, optimizers):
        game.compile(optimizers)
        return game.fit(data, epochs=2, verbose=0, shuffle=False).history

    adam = keras.optimizers.Adam(0.05)
    fitted = Learner(baseline.network, objective)
    before = speaker.get_weights()[0]
    alone = JointTraining(speaker, {"baseline": fitted})
    history = train(alone, adam)
    assert abs(history["worth_advantage"][1]) < 0.1
    assert history["worth"][1] > 0.5
    np.testing.assert_array_equal(speaker.get_weights()[0], before)
    own = baseline.network.get_weights()
    learner = Learner(speaker, objective)
    both = JointTraining(speaker, {"speaker": learner, "baseline": fitted})
    own_rate = keras.optimizers.SGD(0.05)
    history = train(both, {"speaker": own_rate, "baseline": adam})
    rewards = history["worth"]
    assert rewards[1] > rewards[0]
    assert (speaker.get_weights()[0] != before).any()
    after = baseline.network.get_weights()
    assert all((a != b).any() for a, b in zip(own, after, strict=True))
    # The network is a layer of the objective and a learner: one and the same.
    save(both, 1, tmp_path)
    baseline.network.set_weights(own)
    assert restore(both, tmp_path) == 1
    for found, wanted in zip(baseline.network.get_weights(), after):
        np.testing.assert_array_equal(found, wanted)


def test_the_speaker_steps_as_if_the_baseline_did_not_learn():
    def stepped(weight, *names):
        speaker, samples = Mindful(2), decoder(4)
        baseline = learned((6,), weight=weight)
        baseline.network.trainable = "baseline" in names
        objective = ScoreFunction(Worth(), samples, baseline)
        networks = {"speaker": speaker, "baseline": baseline.network}
        game = JointTraining(
            speaker,
            {name: Learner(networks[name], objective) for name in names},
        )
        game.compile({name: _sgd() for name in names})
        game.train_on_batch(tiny.batch(50))
        return speaker.get_weights()[0]

    wanted = stepped(0.0, "speaker")
    found = stepped(100.0, "speaker", "baseline")
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def _sgd():
    return keras.optimizers.SGD(0.1)


def test_it_may_follow_credit_word_by_word():
    speaker, samples = Mindful(2), decoder(2)
    objective = ScoreFunction(
        Worth(), samples, learned((4,)), credit=MonteCarlo(2)
    )
    loss, logs = objective.loss(Episode(speaker, tiny.batch(4)))
    assert np.isfinite(float(loss)) and "worth" in logs


def test_a_decoder_that_forgets_is_refused():
    objective = ScoreFunction(Worth(), Sample(), LearnedBaseline(5))
    with pytest.raises(ValueError, match="`decoder` must keep the states"):
        objective.loss(Episode(Mindful(), tiny.batch(2)))


def test_a_state_of_another_size_is_refused():
    speaker, samples = Mindful(), decoder()
    objective = ScoreFunction(Worth(), samples, LearnedBaseline(7))
    with pytest.raises(ValueError, match="state_units=7 for states of shape"):
        objective.loss(Episode(speaker, tiny.batch(2)))


def test_its_loss_is_a_mean_over_words():
    baseline = learned(weight=2.0)
    rewards, values = np.ones((1, 1)), np.array([[[0.0, -1.0, 9.0]]])
    found = baseline.losses(rewards, values, np.array([[[1.0, 1.0, 0.0]]]))
    np.testing.assert_allclose(
        found, [[2.0 * (1 + 4) / 2]], rtol=1e-6, atol=1e-6
    )


def test_in_a_game_somebody_must_train_it():
    speaker, samples = Mindful(2), decoder(2)
    baseline = learned()
    objective = ScoreFunction(Worth(), samples, baseline)
    learner = Learner(speaker, objective)
    with pytest.raises(ValueError, match="`speaker`.*'learned_baseline'"):
        JointTraining(speaker, {"speaker": learner})
    baseline.network.trainable = False
    JointTraining(speaker, {"speaker": learner})
