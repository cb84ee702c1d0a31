import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from reproduce.visdial import DialogData
from reproduce.visdial import DialogExperiment
from reproduce.visdial.controls import other_images
from reproduce.visdial.experiment import keep_inputs
from reproduce.visdial.experiment import load_inputs
from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.report import read_log
from tensorboard_plugin_tfcap.sources import Sources
from tests import dialogs
from tests.reproduce.visdial.tiny_study import study
from tfcap.data import DialogBatches
from tfcap.text import Vocabulary
from tfcap.training import JointTraining
from tfcap.training import rank_candidates

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    # A few steps cost less than the graphs that would run them.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder in which one row has been trained and ranked."""
    folder = tmp_path_factory.mktemp("study")
    study(folder).result("lf_g")
    return folder


def test_other_data_of_the_same_size_are_refused(done):
    data, images = dialogs.encoded(), dialogs.features()
    answers = data.answers.copy()
    answers[0] = answers[1]
    others = [
        (data, images + 1),
        (dataclasses.replace(data, answers=answers), images),
        (dataclasses.replace(data, image_ids=data.image_ids + 1), images),
    ]
    settings = study(done).settings
    for found, seen in [(data, images), *others]:
        every = DialogData(*[found] * 3, *[seen] * 3, name="tiny")
        if found is data and seen is images:
            DialogExperiment(every, settings, done, seed=3)
            continue
        with pytest.raises(ValueError, match="ids, captions or features"):
            DialogExperiment(every, settings, done, seed=3)


def test_a_study_goes_on_in_its_own_folder_only(done):
    study(done)
    for change in ({"seed": 4}, {"units": 7}):
        with pytest.raises(ValueError, match="another study's se"):
            study(done, **change)


def test_greedy_answers_are_kept(done, monkeypatch):
    fresh = study(done)
    kept = fresh.answers("lf_g")
    rounds = fresh.data.test.rounds
    assert len(kept) == len(fresh.data.test) * rounds
    assert fresh.answers("lf_g", limit=2) == kept[: 2 * rounds]
    (done / "lf_g" / "answers.json").unlink()
    assert fresh.answers("lf_g") == kept
    assert fresh.answers("lf_g", limit=2) == kept[: 2 * rounds]


def test_ranks_are_points_for_tensorboard(done):
    log = Sources(read_log(done)).chosen()
    points = {p.run: p for p in log.dataset(Query()).points}
    (test,) = [p for name, p in points.items() if "test_generative" in name]
    assert test.method == "lf_g" and test.seed == 3
    assert test.params == {"ranking": "generative", "split": "test"}
    found = study(done).result("lf_g")["generative"]
    for name in ("mrr", "r@1", "r@5", "r@10", "mean_rank"):
        assert test.metrics[name] == pytest.approx(found[name])
    (held,) = [p for name, p in points.items() if "validation" in name]
    assert held.step == 1 and "mean_rank" in held.metrics


def test_a_report_says_what_the_figures_depend_on(done):
    report = study(done).report(["lf_g"])
    assert report["rows"]["lf_g"] == study(done).result("lf_g")
    assert report["seed"] == 3 and report["data"] == "tiny"
    assert report["settings"]["units"] == 6
    assert report["dialogs"] == {"train": 8, "test": 8}
    assert json.loads(json.dumps(report)) == report


def test_networks_that_are_not_all_there_are_not_loaded(done):
    path = done / "lf_g" / "networks.json"
    assert json.loads(path.read_text()) == ["generator"]
    whole = path.read_text()
    path.unlink()
    # What is not whole is trained again.
    again = study(done).networks("lf_g")["generator"]
    assert path.read_text() == whole
    loaded = study(done).networks("lf_g")["generator"]
    for a, b in zip(again.get_weights(), loaded.get_weights()):
        assert (a == b).all()


class Captured(Exception):
    """Ends a row where it would train."""


@pytest.mark.parametrize("limit, ranked", [(3, 3), (100, 8), (0, None)])
def test_few_dialogs_are_ranked_after_an_epoch(
    tmp_path, monkeypatch, limit, ranked
):
    seen = {}

    def spy(*args, callbacks, **kwargs):
        found = [
            c.evaluate() for c in callbacks.callbacks if hasattr(c, "evaluate")
        ]
        seen["count"] = found[0].result()["count"] if found else None
        raise Captured

    monkeypatch.setattr(JointTraining, "fit", spy)
    made = study(tmp_path, validation_dialogs=limit)
    with pytest.raises(Captured):
        made.networks("lf_g")
    index = made.data.validation.question_index
    wanted = None if ranked is None else int((index[:ranked] >= 0).sum())
    assert seen["count"] == wanted


def loud(network):
    """The network with weights that make every dialog and image differ."""
    rng = np.random.default_rng(5)
    weights = network.get_weights()
    network.set_weights([rng.normal(size=w.shape) for w in weights])
    return network


def test_figures_stand_beside_those_with_other_images(tmp_path, monkeypatch):
    made = study(tmp_path)
    relevance = np.random.default_rng(0).random(made.data.test.options.shape)
    test = dataclasses.replace(made.data.test, relevance=relevance)
    data = dataclasses.replace(made.data, test=test)
    made = study(tmp_path / "annotated", data=data)
    networks = {
        "generator": loud(dialogs.generator("lf")),
        "discriminator": loud(dialogs.discriminator("lf")),
    }
    monkeypatch.setattr(made, "networks", lambda row: networks)
    result = made.result("hciae_gan2")
    asked = (test.question_index >= 0).sum()
    assert result["answers"]["count"] == asked < test.question_index.size
    moved = other_images(dialogs.features(), 8, made.seed)(np.arange(8))
    for images, suffix in (dialogs.features(), ""), (moved, "_other_images"):
        batches = DialogBatches(test, images, 4, shuffle=False)
        for group, role in (
            ("generative", "generator"),
            ("discriminative", "discriminator"),
        ):
            network = networks[role]
            wanted = rank_candidates(network, batches, 4, verbose=0).result()
            for name in ("mrr", "ndcg"):
                found = result[group][name + suffix]
                assert found == pytest.approx(wanted[name], rel=1e-5)
    for group in ("generative", "discriminative"):
        gap = result[group]["mrr"] - result[group]["mrr_other_images"]
        assert abs(gap) > 0.01
        assert not {"r@1_other_images", "count_other_images"} & set(
            result[group]
        )


def test_one_test_dialog_has_no_control(tmp_path, monkeypatch):
    made = study(tmp_path / "whole")
    one, image = made.data.test.select([1]), dialogs.features()[1:2]
    data = dataclasses.replace(made.data, test=one, test_features=image)
    made = study(tmp_path / "one", data=data)
    networks = {"discriminator": dialogs.discriminator("lf")}
    monkeypatch.setattr(made, "networks", lambda row: networks)
    assert "mrr_other_images" not in made.result("lf_d")["discriminative"]


def test_the_words_and_the_scale_of_features_are_kept(tmp_path):
    made = study(tmp_path)
    inputs = load_inputs(tmp_path)
    assert inputs.vocabulary == made.data.train.vocabulary
    assert inputs.norm is None and inputs.image == (4, 3)
    keep_inputs(made.data, tmp_path)
    words = Vocabulary(["other"])
    train = dataclasses.replace(made.data.train, vocabulary=words)
    for name, changes in (
        ("norm", {"norm": 8.0}),
        ("image", {"train_features": dialogs.features()[..., :2]}),
        ("vocabulary", {"train": train}),
    ):
        data = dataclasses.replace(made.data, **changes)
        with pytest.raises(ValueError, match=f"must have the `{name}`"):
            keep_inputs(data, tmp_path)


@pytest.mark.parametrize("content", ['{"norm": 1}', '{"words": 3}', "[]"])
def test_inputs_that_are_damaged_are_refused_by_name(tmp_path, content):
    (tmp_path / "inputs.json").write_text(content)
    with pytest.raises(ValueError, match="inputs.json.*no words, norm and"):
        load_inputs(tmp_path)
