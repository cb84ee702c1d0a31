import dataclasses
import inspect
import os

import pytest

from reproduce.visdial import ROWS
from reproduce.visdial.rows import needed
from tests.reproduce.visdial import tiny_study
from tfcap import methods

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")

#: An ablation of each kind is enough, a discriminator's and a generator's, and
#: a generator or a discriminator of each encoder.
LIKE_OTHERS = (
    *("hciae_g_dis_corrupted", "hciae_g_dis_hinge", "hciae_d_np"),
    *("hrea_g", "mn_d", "lf_d", "hciae_d_mle"),
)
TRAINED = [row for row in ROWS if row not in LIKE_OTHERS]


def study(directory):
    return tiny_study.study(
        directory, validation_dialogs=0, transfer_learning_rate=1e-2
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Every row, trained once by one study; test_experiment ranks, too."""
    made = study(tmp_path_factory.mktemp("study"))
    for row in TRAINED:
        made.networks(row)
    return made


def moved(one, other):
    pairs = zip(one.get_weights(), other.get_weights())
    return any((a != b).any() for a, b in pairs)


@pytest.mark.slow
def test_every_row_is_kept_on_disk_and_not_trained_again(trained, monkeypatch):
    monkeypatch.delattr("reproduce.visdial.experiment.train")
    again = study(trained.directory)
    roles = {"g": {"generator"}, "d": {"discriminator"}}
    for row in TRAINED:
        networks = trained.networks(row)
        both = {"generator", "discriminator"}
        assert set(networks) == roles.get(row.split("_")[1], both)
        names = os.listdir(os.path.join(trained.directory, row))
        kept = {x.removesuffix(".keras") for x in names if ".keras" in x}
        assert kept == set(networks)
        for role, network in again.networks(row).items():
            assert network is not networks[role]
            assert not moved(network, networks[role])


@pytest.mark.slow
def test_a_frozen_judge_stays_and_learners_move(trained):
    def fresh(row):
        return trained.networks(row, fresh=True)

    judge = fresh("hciae_d_np_att")["discriminator"]
    begun = fresh("hciae_g_mle")["generator"]
    kept = trained.networks("hciae_d_np_att")["discriminator"]
    assert not moved(judge, kept)
    for row in ("hciae_g_dis", "hciae_g_mle_control"):
        assert moved(begun, fresh(row)["generator"])
    for row in ("hciae_gan1", "hciae_gan2"):
        assert moved(begun, fresh(row)["generator"])
        assert moved(judge, fresh(row)["discriminator"])


def test_rows_name_what_they_start_from():
    cold = tiny_study.TINY
    warm = dataclasses.replace(cold, warm_discriminator=True)
    for settings in (cold, warm):
        assert needed("hciae_g_mle", settings) == ()
        assert needed("hciae_g_mle_control", settings) == ("hciae_g_mle",)
        for row in ("hciae_g_dis", "hciae_gan1", "hciae_gan2"):
            both = ("hciae_g_mle", "hciae_d_np_att")
            assert needed(row, settings) == both
    spoilt = ("hciae_g_mle", "hciae_d_np_att_corrupted")
    assert needed("hciae_g_dis_corrupted", warm) == spoilt
    for row, first in (("lf_d", "lf_g"), ("hciae_d_np_att", "hciae_g_mle")):
        assert needed(row, cold) == () and needed(row, warm) == (first,)


def test_a_warm_discriminator_begins_with_the_generators_encoder(tmp_path):
    made = tiny_study.study(tmp_path, warm_discriminator=True)
    # As they are before they are trained.
    made.fit = lambda row, model, batches, epochs, **networks: networks
    generator = made.networks("lf_g")["generator"]
    discriminator = made.networks("lf_d")["discriminator"]
    assert not moved(generator.embedding, discriminator.embedding)
    assert not moved(generator.encoder, discriminator.encoder)


def test_rows_take_public_methods():
    for row in ROWS.values():
        method = row["method"]
        assert getattr(methods, method.__name__) is method
        known = inspect.signature(method).parameters
        assert set(row.get("options", ())) <= set(known)
