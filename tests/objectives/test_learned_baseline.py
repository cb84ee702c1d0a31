"""A network that expects what a speaker will be worth."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import tiny
from tests.enumerated import Worth
from tests.enumerated import assert_unbiased
from tests.enumerated import estimates
from tests.enumerated import exact_gradient
from tests.enumerated import worth
from tests.training.resumed import restore
from tests.training.resumed import save
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import Episode
from tfcap.objectives import LearnedBaseline
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


def fitted(samples, baseline, speaker, steps=300):
    objective = ScoreFunction(Worth(), samples, baseline)
    learner = Learner(baseline.network, objective)
    model = JointTraining(speaker, {"baseline": learner})
    model.compile(keras.optimizers.Adam(0.05))
    before = speaker.get_weights()
    data = tf.data.Dataset.from_tensors(tiny.batch(200)).repeat(steps)
    model.fit(data, epochs=1, verbose=0, shuffle=False)
    np.testing.assert_array_equal(speaker.get_weights(), before)
    return objective


def test_states_are_those_in_which_words_are_drawn():
    said = tiny.decode(decoder(2, 3), Mindful(2), 4)
    tokens, states = np.array(said.tokens), np.array(said.states)
    assert states.shape == (4, 2, 3, tiny.VOCABULARY)
    read = np.insert(tokens[..., :-1], 0, tiny.BOS, axis=-1)
    there = np.array(said.mask) > 0
    np.testing.assert_array_equal(states.argmax(-1)[there], read[there])


def test_the_mean_gradient_stays_the_exact_one():
    speaker, samples = Mindful(2), decoder(3)
    # Far from what it should be: it costs no expectation even so.
    baseline = learned()
    baseline.network.layers[-1].bias.assign([2.0])
    found = estimates(speaker, ScoreFunction(Worth(), samples, baseline))
    assert_unbiased(found, exact_gradient(speaker, worth))


def test_fitted_alone_it_expects_what_beginnings_are_worth():
    speaker, samples = Mindful(2), decoder(4)
    baseline = learned()
    fitted(samples, baseline, speaker)
    captions, p = tiny.captions(2), np.array(tiny.chances(speaker))
    values = p * worth(captions)
    episode = Episode(speaker, tiny.batch(50))
    rollout = episode.rollout(samples)
    found = np.array(baseline(None, episode.scoring(rollout)))
    np.testing.assert_allclose(found[..., 0], values.sum(), atol=0.25)
    for first in (3, 4):
        begins = captions[:, 0] == first
        expected = values[begins].sum() / p[begins].sum()
        at = found[..., 1][np.array(rollout.tokens)[..., 0] == first]
        np.testing.assert_allclose(at, expected, atol=0.25)
    # A baseline near what is expected quietens the gradient.
    bias = baseline.network.layers[-1].bias
    bias.assign(bias + 5.0)
    quiet, plain = (
        estimates(speaker, ScoreFunction(Worth(5.0), decoder(), x), repeats=30)
        for x in (baseline, None)
    )
    assert quiet.var(0).sum() < 0.3 * plain.var(0).sum()


def test_the_speaker_does_not_feel_its_loss():
    speaker, samples = Mindful(2), decoder(2)
    baseline = learned((6,), weight=3.0)
    objective = ScoreFunction(Worth(), samples, baseline)
    assert objective.layers()[-1] is baseline.network
    episode = Episode(speaker, tiny.batch(8))
    with tf.GradientTape() as tape:
        rollout = episode.rollout(samples)
        rewards = Worth()(rollout, episode)
        values = baseline(rewards, episode.scoring(rollout))
        loss = ops.sum(baseline.losses(rewards, values, rollout.mask))
    networks = speaker, baseline.network
    sources = [network.trainable_variables[0].value for network in networks]
    of_speaker, own = tape.gradient(loss, sources)
    assert of_speaker is None
    assert np.abs(np.array(own)).max() > 0


def test_it_is_trained_beside_the_speaker_and_saved_once(tmp_path):
    speaker, samples = Mindful(2), decoder(4)
    baseline = learned((6,))
    objective = ScoreFunction(Worth(), samples, baseline)
    networks = {"speaker": speaker, "baseline": baseline.network}
    both = JointTraining(
        speaker, {name: Learner(x, objective) for name, x in networks.items()}
    )
    adam = keras.optimizers.Adam(0.05)
    both.compile({"speaker": _sgd(), "baseline": adam})
    before, own = speaker.get_weights()[0], baseline.network.get_weights()
    data = tf.data.Dataset.from_tensors(tiny.batch(100)).repeat(30)
    rewards = both.fit(data, epochs=2, verbose=0, shuffle=False).history
    assert rewards["worth"][1] > rewards["worth"][0]
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


@pytest.mark.parametrize(
    ("samples", "units", "message"),
    [
        (Sample(), 5, "`decoder` must keep the states"),
        (decoder(), 7, "state_units=7 for states of shape"),
    ],
)
def test_states_that_it_cannot_read_are_refused(samples, units, message):
    objective = ScoreFunction(Worth(), samples, LearnedBaseline(units))
    with pytest.raises(ValueError, match=message):
        objective.loss(Episode(Mindful(), tiny.batch(2)))


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
