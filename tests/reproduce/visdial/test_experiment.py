import dataclasses
import json

import numpy as np
import pytest

from reproduce.visdial import DialogData
from reproduce.visdial.measures import other_images
from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.report import read_log
from tensorboard_plugin_tfcap.sources import Sources
from tests import dialogs
from tests.reproduce.visdial.tiny_study import study
from tfcap.data import DialogBatches
from tfcap.training import rank_candidates

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder in which one row has been trained and ranked."""
    folder = tmp_path_factory.mktemp("study")
    study(folder).result("lf_g")
    return folder


def test_a_study_goes_on_in_its_own_folder_only(done):
    mine, images = dialogs.encoded(), dialogs.features()
    answers = mine.answers.copy()
    answers[0] = answers[1]
    changes = [{"seed": 4}, {"units": 7}]
    for found, seen in (
        (mine, images + 1),
        (dataclasses.replace(mine, answers=answers), images),
        (dataclasses.replace(mine, image_ids=mine.image_ids + 1), images),
    ):
        data = DialogData(*[found] * 3, *[seen] * 3, name="tiny")
        changes.append({"data": data})
    study(done)
    told = "another study's (seed|settings|ids, captions or features)"
    for change in changes:
        with pytest.raises(ValueError, match=told):
            study(done, **change)


def test_greedy_answers_are_kept(done):
    fresh = study(done)
    kept, rounds = fresh.answers("lf_g"), fresh.data.test.rounds
    assert len(kept) == len(fresh.data.test) * rounds
    words = {*dialogs.WORDS, "<unk>"}
    assert all(set(answer.split()) <= words for answer in kept)
    assert fresh.answers("lf_g", limit=2) == kept[: 2 * rounds]
    (done / "lf_g" / "answers.json").unlink()
    assert fresh.answers("lf_g", limit=2) == kept[: 2 * rounds]


def test_ranks_are_points_for_tensorboard(done):
    log = Sources(read_log(done)).chosen()
    points = {p.run: p for p in log.dataset(Query()).points}
    (test,) = [p for name, p in points.items() if "test_generative" in name]
    assert test.method == "lf_g" and test.seed == 3
    assert test.params == {"ranking": "generative", "split": "test"}
    found = study(done).result("lf_g")
    for name in ("mrr", "r@1", "r@5", "r@10", "mean_rank"):
        assert test.metrics[name] == pytest.approx(found["generative"][name])
    assert "distinct_share" in test.metrics
    (held,) = [p for name, p in points.items() if "validation" in name]
    assert held.step == 1 and "mean_rank" in held.metrics


def test_a_report_says_what_the_figures_depend_on(done):
    report = study(done).report(["lf_g"])
    assert list(report["rows"]) == ["answer_prior", "lf_g"]
    assert report["rows"]["lf_g"] == study(done).result("lf_g")
    assert report["seed"] == 3 and report["data"] == ["tiny", 8, 8]
    assert report["settings"]["units"] == 6
    assert json.loads(json.dumps(report)) == report


def loud(network):
    """The network with weights that make every dialog and image differ."""
    rng = np.random.default_rng(5)
    weights = network.get_weights()
    network.set_weights([rng.normal(size=w.shape) for w in weights])
    return network


@pytest.fixture(scope="module")
def networks():
    return {
        "generator": loud(dialogs.generator("lf")),
        "discriminator": loud(dialogs.discriminator("lf")),
    }


@pytest.mark.parametrize("limit, ranked", [(3, 3), (100, 8), (0, None)])
def test_few_dialogs_are_ranked_after_an_epoch(
    tmp_path, networks, limit, ranked
):
    made = study(tmp_path, validation_dialogs=limit)
    found = made._validation("lf_g", networks)
    if ranked is None:
        assert not found
        return
    (callback,) = found
    index = made.data.validation.question_index[:ranked]
    assert callback.evaluate().result()["count"] == (index >= 0).sum()


def test_figures_stand_beside_those_with_other_images(
    tmp_path, monkeypatch, networks
):
    made = study(tmp_path / "plain")
    relevance = np.random.default_rng(0).random(made.data.test.options.shape)
    test = dataclasses.replace(made.data.test, relevance=relevance)
    data = dataclasses.replace(made.data, test=test)
    made = study(tmp_path / "annotated", data=data)
    monkeypatch.setattr(made, "networks", lambda row: networks)
    result = made.result("hciae_gan2")
    asked = (test.question_index >= 0).sum()
    assert result["answers"]["count"] == asked < test.question_index.size
    own = dialogs.features()
    moved = other_images(own, 8, made.seed)(np.arange(8))
    for group, role in (
        ("generative", "generator"),
        ("discriminative", "discriminator"),
    ):
        found = result[group]
        for images, suffix in (
            (dialogs.features(), ""),
            (moved, "_other_images"),
        ):
            batches = DialogBatches(test, images, 4, shuffle=False)
            ranked = rank_candidates(networks[role], batches, 4, verbose=0)
            wanted = ranked.result()
            for name in ("mrr", "ndcg"):
                assert found[name + suffix] == pytest.approx(wanted[name])
        assert abs(found["mrr"] - found["mrr_other_images"]) > 0.01
        assert {x for x in found if "_" in x} == {
            *("mean_rank", "mrr_other_images", "ndcg_other_images")
        }


def test_one_test_dialog_has_no_control(tmp_path, monkeypatch, networks):
    data = study(tmp_path / "whole").data.first(1)
    made = study(tmp_path / "one", data=data)
    one = {"discriminator": networks["discriminator"]}
    monkeypatch.setattr(made, "networks", lambda row: one)
    assert "mrr_other_images" not in made.result("lf_d")["discriminative"]
