import dataclasses
import os

import keras
import numpy as np
import pytest
import tensorflow as tf

from reproduce.visdial import ROWS
from reproduce.visdial import make_discriminator
from reproduce.visdial import make_generator
from reproduce.visdial import rows
from reproduce.visdial.rows import needed
from tests import dialogs
from tests.reproduce.visdial import tiny_study
from tfcap.decoding import Rollout
from tfcap.objectives import Episode

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")

SETTINGS = dataclasses.replace(tiny_study.TINY, transfer_learning_rate=1e-2)
GENERATIVE = {"mrr", "r@1", "r@5", "r@10", "mean_rank", "count"}
GENERATIVE |= {"mrr_other_images"}


def study(directory, **changes):
    changes = {"transfer_learning_rate": 1e-2, **changes}
    return tiny_study.study(directory, **changes)


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    # A dozen steps cost less than the graphs that would run them.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Every row, trained once by one study; test_study ranks after epochs."""
    made = study(tmp_path_factory.mktemp("study"), validation_dialogs=0)
    for row in ROWS:
        made.networks(row)
    return made


def weights(network):
    return network.get_weights()


def moved(one, other):
    return any((a != b).any() for a, b in zip(weights(one), weights(other)))


@pytest.mark.slow
@pytest.mark.parametrize("row", list(ROWS))
def test_every_row_is_kept_on_disk(trained, row):
    networks = trained.networks(row)
    roles = {"g": {"generator"}, "d": {"discriminator"}}
    expected = roles.get(row.split("_")[1], {"generator", "discriminator"})
    assert set(networks) == expected
    folder = os.path.join(trained.directory, row)
    assert expected == {
        name.split(".")[0] for name in os.listdir(folder) if ".keras" in name
    }
    for role, network in trained.networks(row, fresh=True).items():
        assert network is not networks[role]
        assert not moved(network, networks[role])


@pytest.mark.slow
def test_a_row_on_disk_is_loaded_and_not_trained_again(trained, monkeypatch):
    def fail(study):
        raise RuntimeError("trained again")

    for row in ROWS:
        monkeypatch.setitem(ROWS, row, fail)
    again = study(trained.directory)
    for row in ("lf_g", "hciae_gan2"):
        for role, network in again.networks(row).items():
            assert not moved(network, trained.networks(row)[role])


@pytest.mark.slow
def test_a_frozen_judge_stays_and_players_move(trained):
    def networks(row):
        return trained.networks(row, fresh=True)

    judge = networks("hciae_d_np_att")["discriminator"]
    begun = networks("hciae_g_mle")["generator"]
    kept = trained.networks("hciae_d_np_att")["discriminator"]
    assert not moved(judge, kept)
    for row in ("hciae_g_dis", "hciae_g_mle_control"):
        assert moved(begun, networks(row)["generator"])
    for row in ("hciae_gan1", "hciae_gan2"):
        assert moved(begun, networks(row)["generator"])
        assert moved(judge, networks(row)["discriminator"])


@pytest.mark.slow
def test_results_are_written_once_and_answers_are_words(trained):
    result = trained.result("hciae_gan2")
    assert set(result) == {"generative", "discriminative", "answers"}
    assert set(result["generative"]) == set(result["discriminative"])
    assert set(result["generative"]) == GENERATIVE
    path = os.path.join(trained.directory, "hciae_gan2", "result.json")
    stamp = os.stat(path).st_mtime_ns
    assert study(trained.directory).result("hciae_gan2") == result
    assert os.stat(path).st_mtime_ns == stamp
    said = trained.answers("hciae_gan2", limit=2)
    words = {*dialogs.WORDS, "", "<unk>", "UNK"}
    assert len(said) == 6
    assert all(set(answer.split()) <= words for answer in said)


def test_a_row_nobody_knows_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match="`row` must be one of lf_g, .*row='x'"
    ):
        study(tmp_path).networks("x")


def test_rows_name_what_they_start_from():
    players = ("hciae_g_mle", "hciae_d_np_att")
    cold = SETTINGS
    warm = dataclasses.replace(SETTINGS, warm_discriminator=True)
    for row in ("hciae_g_dis", "hciae_gan1", "hciae_gan2"):
        assert needed(row, cold) == needed(row, warm) == players
    assert needed("hciae_g_mle_control", cold) == ("hciae_g_mle",)
    for row in ("lf_g", "hrea_g", "mn_g", "hciae_g_mle"):
        assert needed(row, cold) == needed(row, warm) == ()
    assert needed("lf_d", cold) == needed("hciae_d_np_att", cold) == ()
    assert needed("lf_d", warm) == ("lf_g",)
    assert needed("hrea_d", warm) == ("hrea_g",)
    assert needed("hciae_d_np_att", warm) == ("hciae_g_mle",)
    for row in ROWS:
        assert set(needed(row, warm)) <= set(ROWS) - {row}


class Captured(Exception):
    """Ends a recipe where it would train."""


def objectives(row, tmp_path, monkeypatch):
    """The model of a row, and its study, before it trains."""
    made, found = study(tmp_path), []

    def stop(row, model, batches, epochs, **networks):
        found.append(model)
        raise Captured

    batches = dialogs.batches()
    keras.utils.set_random_seed(0)
    networks = {
        "hciae_g_mle": {
            "generator": make_generator("hciae", SETTINGS, batches)
        },
        "hciae_d_np_att": {
            "discriminator": make_discriminator("hciae", SETTINGS, batches)
        },
    }
    monkeypatch.setattr(made, "fit", stop)
    monkeypatch.setattr(
        made, "networks", lambda row, fresh=False: networks[row]
    )
    with pytest.raises(Captured):
        ROWS[row](made)
    return found[0], networks


def perceptual_loss(discriminator, inputs, rollout):
    """Equation 5 by NumPy, over the rounds that are there."""
    anchor = np.asarray(discriminator.encode(inputs))
    truth = inputs["answer"].reshape(len(anchor), 1, -1)
    f_truth = np.asarray(discriminator.embed(truth, truth > 0))[:, 0]
    f_said = discriminator.embed(rollout.tokens, rollout.mask)
    gap = (anchor * (f_truth - np.asarray(f_said)[:, 0])).sum(-1)
    return np.log1p(np.exp(gap))[truth.any((1, 2))].mean()


def test_g_dis_learns_by_equation_5_and_teacher_forcing(tmp_path, monkeypatch):
    model, networks = objectives("hciae_g_dis", tmp_path, monkeypatch)
    inputs = dialogs.batches().inputs(np.arange(8))
    discriminator = networks["hciae_d_np_att"]["discriminator"]
    assert not discriminator.trainable
    (pathwise, forcing) = model.objective.terms
    assert (pathwise.weight, forcing.weight) == (1.0, SETTINGS.mle_weight)
    episode = Episode(model.speaker, inputs)
    total, logs = model.objective.loss(episode)
    said = episode.rollout(pathwise.estimator.decoder)
    expected = perceptual_loss(discriminator, inputs, said)
    np.testing.assert_allclose(
        -logs["dialog_score"], expected, rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(
        total, expected + 0.5 * logs["teacher_forcing"], rtol=1e-4, atol=1e-6
    )
    scores = model.speaker.log_probs(
        episode.state, model.speaker.references(inputs)
    )
    present = inputs["answer"].any(-1).reshape(-1)
    nll = -np.sum(scores, axis=(1, 2))[present].mean()
    np.testing.assert_allclose(
        logs["teacher_forcing"], nll, rtol=1e-4, atol=1e-6
    )


def test_gan1_has_the_discriminator_undo_g(tmp_path, monkeypatch):
    model, networks = objectives("hciae_gan1", tmp_path, monkeypatch)
    inputs = dialogs.batches().inputs(np.arange(8))
    episode = Episode(model.speaker, inputs)
    g, d = (model.players[n].objective for n in ("generator", "discriminator"))
    pathwise = g.terms[0].estimator
    share, _ = pathwise.loss(episode)
    undo, _ = d.loss(episode)
    # Without dropout; with it, the learner reads through its own.
    np.testing.assert_allclose(undo, -share, rtol=1e-5, atol=1e-6)
    assert d.terms[0].estimator.decoder is pathwise.decoder
    assert model.players["discriminator"].network.trainable


def test_gan2_keeps_wrong_options_and_adds_what_is_said(tmp_path, monkeypatch):
    model, networks = objectives("hciae_gan2", tmp_path, monkeypatch)
    batches = dialogs.batches(8, negatives=3, shuffle=False)
    inputs, labels = batches.batch(0)
    network = networks["hciae_d_np_att"]["discriminator"]
    network.norm_regularizer = None
    (term,) = model.players["discriminator"].objective.terms
    sample = term.estimator.decoders[0]
    episode = Episode(model.speaker, inputs)
    said = episode.rollout(sample)
    found, _ = term.estimator.loss(episode)
    anchor = np.asarray(network.encode(inputs))
    fake = np.asarray(network.embed(said.tokens, said.mask))[:, 0]
    scores = np.asarray(network(inputs)).reshape(24, -1)
    labels, losses = labels.reshape(24, -1), []
    for row in range(24):
        if labels[row, 0] == 1:
            wrong = list(scores[row][labels[row] == 0])
            truth = inputs["answer"].reshape(24, -1)[row]
            if _words(said, row) != [w for w in truth.tolist() if w]:
                wrong.append(anchor[row] @ fake[row])
            gaps = np.exp(np.array(wrong) - scores[row, 0])
            losses.append(np.log1p(gaps.sum()))
    np.testing.assert_allclose(found, np.mean(losses), rtol=1e-4, atol=1e-6)


def _words(said, row):
    assert isinstance(said, Rollout)
    return [w for w in np.asarray(said.tokens)[row, 0].tolist() if w]


def test_rows_are_functions_that_say_what_they_are():
    for name, row in ROWS.items():
        assert getattr(rows, name) is row and row.__doc__
