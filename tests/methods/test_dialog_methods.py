"""Visual dialog methods, against the rows they were and the paper."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import dialogs
from tests.methods.dialog_goldens import GOLDENS
from tests.methods.dialog_goldens import figures
from tests.methods.dialog_goldens import loud
from tfcap import methods
from tfcap.objectives import Episode

SETTINGS = dataclasses.replace(dialogs.SETTINGS, norm_penalty=0.1)


def generator():
    return loud(dialogs.generator(settings=SETTINGS), 1)


def discriminator(**options):
    made = dialogs.make_discriminator(
        "hciae", SETTINGS, dialogs.batches(), **options
    )
    return loud(made, 2)


def through(method, **options):
    """A method of both networks, and what learns of them."""
    networks = generator(), discriminator()
    options = {"max_length": 5, **options}
    return method(*networks, seed=3, **options), networks


def ranked(**options):
    network = discriminator(**options)
    return methods.n_pair(network), [network]


def likelihood():
    network = generator()
    return methods.dialog_mle(network), [network]


def transfer():
    model, (speaker, _) = through(methods.gdis)
    return model, [speaker]


MADE = {
    "hciae_g_mle": likelihood,
    "hciae_g_mle_control": likelihood,
    "hciae_g_dis": transfer,
    "hciae_d_mle": lambda: ranked(attention=False, penalty=False),
    "hciae_d_np": lambda: ranked(attention=False),
    "hciae_d_np_att": ranked,
    "hciae_gan1": lambda: through(methods.gan1),
    "hciae_gan2": lambda: through(methods.gan2),
}
NEGATIVES = {
    "hciae_d_mle": {"negatives": 4},
    "hciae_d_np": {"negatives": 3, "in_batch_negatives": 2},
    "hciae_d_np_att": {"negatives": 3, "in_batch_negatives": 2},
    "hciae_gan1": {"negatives": 3},
    "hciae_gan2": {"negatives": 3},
}


@pytest.mark.parametrize("row", MADE)
def test_two_steps_are_those_of_the_rows_before(row):
    model, networks = MADE[row]()
    optimizers = keras.optimizers.SGD(0.05)
    if len(networks) > 1:
        names = "generator", "discriminator"
        optimizers = {name: keras.optimizers.SGD(0.05) for name in names}
    model.compile(optimizers)
    found = figures(model, networks, **NEGATIVES.get(row, {}))
    np.testing.assert_allclose(found, GOLDENS[row], rtol=1e-4, atol=3e-6)


def test_g_dis_learns_by_equation_5_and_teacher_forcing():
    model, (_, judge) = through(methods.gdis, mle_weight=0.25)
    assert not judge.trainable
    objective = model.learners["generator"].objective
    assert [term.weight for term in objective.terms] == [1.0, 0.25]
    inputs = dialogs.batches().inputs(np.arange(8))
    total, logs = objective.loss(Episode(model.speaker, inputs))
    wanted = 0.25 * logs["teacher_forcing"] - logs["dialog_score"]
    np.testing.assert_allclose(total, wanted, rtol=1e-5)


def test_g_dis_takes_the_entropy_of_its_sample_from_the_loss():
    options = {"entropy_weight": 0.3, "pair_temperature": 0.2}
    model, _ = through(methods.gdis, **options)
    pathwise, _, bonus = model.learners["generator"].objective.terms
    assert pathwise.estimator.reward.temperature == 0.2
    assert bonus.weight == 0.3
    assert bonus.estimator.decoder is pathwise.estimator.decoder
    inputs = dialogs.batches().inputs(np.arange(8))
    present = inputs["answer"].any(-1).reshape(-1)
    episode = Episode(model.speaker, inputs)
    with tf.GradientTape(persistent=True) as tape:
        found, _ = bonus.estimator.loss(episode)
        said = episode.rollout(pathwise.estimator.decoder)
        # A word's log probability, as much as the word surprises.
        scores = model.speaker.log_probs(episode.state, said.tokens)
        surprises = tf.stop_gradient(-scores) * said.mask
        rows = -tf.reduce_sum(surprises * scores, axis=(1, 2))
        expected = tf.reduce_mean(rows[present])
    head = model.speaker.trainable_variables[-1].value
    found, expected = (tape.gradient(x, head) for x in (found, expected))
    assert np.abs(found).max() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_gan1_has_the_discriminator_undo_g():
    model, (_, judge) = through(methods.gan1)
    inputs = dialogs.batches().inputs(np.arange(8))
    episode = Episode(model.speaker, inputs)
    g, d = (model.learners[n].objective for n in ("generator", "discriminator"))
    pathwise = g.terms[0].estimator
    share, _ = pathwise.loss(episode)
    undo, _ = d.loss(episode)
    # Without dropout; with it, the learner reads through its own.
    np.testing.assert_allclose(undo, -share, rtol=1e-5, atol=1e-6)
    assert d.terms[0].estimator.decoder is pathwise.decoder
    assert judge.trainable


def test_gan2_keeps_wrong_options_and_adds_what_is_said():
    model, (_, judge) = through(methods.gan2)
    judge.norm_regularizer = None
    batches = dialogs.batches(8, negatives=3, shuffle=False)
    inputs, labels = batches.batch(0)
    (term,) = model.learners["discriminator"].objective.terms
    episode = Episode(model.speaker, inputs)
    said = episode.rollout(term.estimator.decoders[0])
    found, _ = term.estimator.loss(episode)
    anchor = np.asarray(judge.encode(inputs))
    fake = np.asarray(judge.embed(said.tokens, said.mask))[:, 0]
    scores = np.asarray(judge(inputs)).reshape(24, -1)
    labels, losses = labels.reshape(24, -1), []
    answers = inputs["answer"].reshape(24, -1)
    for row in range(24):
        if labels[row, 0] != 1:
            continue
        wrong = list(scores[row][labels[row] == 0])
        sampled = np.asarray(said.tokens)[row, 0]
        if sampled[sampled > 0].tolist() != [w for w in answers[row] if w]:
            wrong.append(anchor[row] @ fake[row])
        gaps = np.exp(np.array(wrong) - scores[row, 0])
        losses.append(np.log1p(gaps.sum()))
    np.testing.assert_allclose(found, np.mean(losses), rtol=1e-4, atol=1e-6)


def test_what_was_frozen_learns_again_in_a_game():
    for method in (methods.gan1, methods.gan2):
        judge = discriminator()
        judge.trainable = False
        method(generator(), judge)
        assert judge.trainable_variables
