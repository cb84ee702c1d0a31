import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import speakers
from tests import tiny
from tests.training.resumed import restore
from tests.training.resumed import save
from tfcap.decoding import GroundTruth
from tfcap.decoding import ScheduledSampling
from tfcap.decoding import stepwise_log_probs
from tfcap.objectives import Episode
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining

ROWS = 8000
REFERENCE = np.array([3, 4, 3, 2, 0])


class Listening(tiny.TableSpeaker):
    """Keeps the words that it reads."""

    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.heard = []

    def step(self, words, state, training=False):
        self.heard.append(ops.convert_to_numpy(words))
        return super().step(words, state, training)


def decode(probability, speaker, training=True, rows=ROWS, samples=1):
    decoder = ScheduledSampling(probability, seed=0)
    references = np.tile(REFERENCE, (rows, samples, 1))
    return tiny.decode(decoder, speaker, rows, references, training)


def test_without_own_words_it_is_teacher_forcing():
    speaker = tiny.TableSpeaker()
    said = decode(0.0, speaker, rows=3, samples=2)
    state = speaker.begin(tiny.batch(3))
    expected = stepwise_log_probs(speaker, state, said.tokens)
    np.testing.assert_allclose(said.log_probs, expected, atol=1e-6)
    truth = GroundTruth().decode(speaker, state, said.tokens)
    np.testing.assert_array_equal(said.tokens, truth.tokens)
    np.testing.assert_array_equal(said.mask, truth.mask)
    assert said.discrete and said.words is None


@pytest.mark.parametrize("probability", [0.3, 1.0])
def test_read_words_come_from_the_speaker_as_often_as_asked(probability):
    speaker = Listening(scale=1.0)
    decode(probability, speaker)
    table = ops.convert_to_numpy(speaker.table)
    assert len(speaker.heard) == 5
    assert (speaker.heard[0] == tiny.BOS).all()
    for t, reference in enumerate(REFERENCE[:4]):
        before, after = speaker.heard[t], speaker.heard[t + 1]
        for last in np.unique(before):
            for word, score in tiny.scores(table[last]).items():
                p = probability * np.exp(score)
                p += (1 - probability) * (word == reference)
                tiny.assert_as_often(after[before == last] == word, p)


def test_coins_fall_for_every_row_and_step_alone():
    # This speaker says 4 and nothing else, where the reference has 3.
    speaker = Listening()
    speaker.table.assign(np.eye(5)[[4] * 5] * 100)
    decode(0.5, speaker)
    first, third = (speaker.heard[t] == 4 for t in (1, 3))
    for share in (first.mean(), third.mean(), 2 * (first & third).mean()):
        assert abs(share - 0.5) < 4.5 * 0.5 / np.sqrt(ROWS / 2)


def test_scores_are_of_the_references_given_what_was_read():
    speaker = Listening()
    said = decode(0.7, speaker, rows=6, samples=2)
    table = ops.convert_to_numpy(speaker.table)
    for row, (t, word) in itertools.product(range(12), enumerate(REFERENCE)):
        expected = tiny.scores(table[speaker.heard[t][row]]).get(word, 0.0)
        found = said.log_probs[row // 2, row % 2, t]
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_references_are_read_when_nobody_trains():
    speaker = tiny.TableSpeaker()
    said = decode(1.0, speaker, training=False, rows=4)
    assert said.log_probs is None
    episode = Episode(speaker, tiny.batch(4, said.tokens))
    loss, _ = TeacherForcing(decoder=ScheduledSampling(1.0)).loss(episode)
    expected, _ = TeacherForcing().loss(episode)
    np.testing.assert_allclose(loss, expected, rtol=1e-6, atol=1e-6)


def test_gradients_are_those_of_the_scores_alone():
    speaker = tiny.TableSpeaker()
    with tf.GradientTape() as tape:
        said = decode(1.0, speaker, rows=200)
        loss = ops.sum(said.log_probs[..., 0])
    gradient = tape.gradient(loss, speaker.table.value)
    # Only the first word's score is counted: nothing reaches it through what
    # is read later.
    expected = np.zeros((5, 5))
    for word, score in tiny.scores(speaker.table[tiny.BOS]).items():
        expected[tiny.BOS, word] = 200 * ((word == 3) - np.exp(score))
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4)


def test_the_seed_decides_which_words_are_read():
    heard = []
    for _ in range(2):
        speaker = Listening()
        decode(0.5, speaker, rows=50)
        heard.append(np.stack(speaker.heard))
    np.testing.assert_array_equal(*heard)


def rising(step):
    return keras.ops.minimum(0.5, step / 20)


def test_training_lowers_the_loss_and_the_probability_is_annealed(tmp_path):
    keras.utils.set_random_seed(0)
    speaker = speakers.speaker("show_tell_every_step")
    decoder = ScheduledSampling(rising, seed=1)
    model = JointTraining(speaker, TeacherForcing("token", decoder=decoder))
    model.compile(keras.optimizers.Adam(0.02))
    data = tf.data.Dataset.from_tensors(speakers.batch()).repeat(15)
    history = model.fit(data, epochs=2, shuffle=False, verbose=0).history
    assert history["loss"][1] < history["loss"][0]
    np.testing.assert_allclose(history["scheduled_sampling"], 0.5, rtol=1e-6)
    assert int(decoder.channel.step) == 30
    # It is part of the run's state.
    save(model, 2, tmp_path)
    decoder.channel.step.assign(2)
    assert float(decoder.probability) == pytest.approx(0.1)
    restore(model, tmp_path)
    assert float(decoder.probability) == 0.5


def test_a_variable_of_the_users_own_is_read():
    variable = keras.Variable(0.5, trainable=False)
    decoder = ScheduledSampling(variable)
    assert decoder.probability is variable
    model = JointTraining(tiny.TableSpeaker(), TeacherForcing(decoder=decoder))
    assert any(own is variable for own in model.variables)


def test_a_saved_model_takes_the_names_of_its_variables():
    with tf.Graph().as_default():
        for variable in ScheduledSampling(0.5).channel.variables:
            with tf.name_scope(variable.path):
                pass
