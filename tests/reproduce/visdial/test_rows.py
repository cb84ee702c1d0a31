import dataclasses
import inspect
import os

import pytest
import tensorflow as tf

from reproduce.visdial import ROWS
from reproduce.visdial.rows import needed
from tests import dialogs
from tests.reproduce.visdial import tiny_study
from tfcap import methods

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")

SETTINGS = dataclasses.replace(tiny_study.TINY, transfer_learning_rate=1e-2)
#: One ablation of each kind is enough: a discriminator's, and a generator's.
LIKE_OTHERS = ("hciae_g_dis_corrupted", "hciae_g_dis_hinge")
TRAINED = [row for row in ROWS if row not in LIKE_OTHERS]
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
    for row in TRAINED:
        made.networks(row)
    return made


def weights(network):
    return network.get_weights()


def moved(one, other):
    return any((a != b).any() for a, b in zip(weights(one), weights(other)))


@pytest.mark.slow
@pytest.mark.parametrize("row", TRAINED)
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
    def fail(*_):
        raise RuntimeError("trained again")

    monkeypatch.setattr("reproduce.visdial.experiment.train", fail)
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
    learners = ("hciae_g_mle", "hciae_d_np_att")
    cold = SETTINGS
    warm = dataclasses.replace(SETTINGS, warm_discriminator=True)
    spoilt = ("hciae_g_mle", "hciae_d_np_att_corrupted")
    assert needed("hciae_g_dis_corrupted", warm) == spoilt
    for row in ("hciae_g_dis", "hciae_gan1", "hciae_gan2"):
        assert needed(row, cold) == needed(row, warm) == learners
    assert needed("hciae_g_mle_control", cold) == ("hciae_g_mle",)
    for row in ("lf_g", "hrea_g", "mn_g", "hciae_g_mle"):
        assert needed(row, cold) == needed(row, warm) == ()
    assert needed("lf_d", cold) == needed("hciae_d_np_att", cold) == ()
    assert needed("lf_d", warm) == ("lf_g",)
    assert needed("hrea_d", warm) == ("hrea_g",)
    assert needed("hciae_d_np_att", warm) == ("hciae_g_mle",)
    for row in ROWS:
        assert set(needed(row, warm)) <= set(ROWS) - {row}


def test_rows_say_what_they_are_and_take_public_methods():
    for row in ROWS.values():
        method = row["method"]
        assert row["about"] and getattr(methods, method.__name__) is method
        known = inspect.signature(method).parameters
        assert set(row.get("options", ())) <= set(known)
