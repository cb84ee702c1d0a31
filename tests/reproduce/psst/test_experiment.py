import json
import math

import numpy as np
import pytest

from reproduce.psst.adversary import pretrained_evaluator
from reproduce.psst.paper import HUMAN
from tests.reproduce.psst.tiny_study import study
from tests.reproduce.training import moved
from tests.reproduce.training import one_step
from tests.reproduce.training import weights
from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import HingeRetrievalLoss
from tfcap.training import SpeakerReport

pytestmark = pytest.mark.usefixtures("eagerly")
POINT = "psst_multinomial", {"lambda_": 1e-2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which both learners have learned by themselves."""
    folder = tmp_path_factory.mktemp("study")
    study(folder).result("speaker_mle")
    return folder


@pytest.fixture(scope="module")
def alone(folder):
    """Weights of both learners that learned by themselves."""
    made = study(folder)
    speaker = made.networks("speaker_mle")["speaker"]
    listener = made.networks("listener_gt")["listener"]
    return weights({"speaker": speaker, "listener": listener})


@pytest.fixture(scope="module")
def found(folder):
    """Scores of a point that is trained jointly."""
    row, numbers = POINT
    return study(folder).result(row, **numbers)


def test_a_point_is_trained_evaluated_and_kept(folder, alone, found, untrained):
    row, numbers = POINT
    made = study(folder)
    assert 0 <= found["r@1"] <= found["r@10"] <= 100
    assert all(math.isfinite(score) for score in found.values())
    after = weights(made.trained(row, **numbers))
    for role, before in alone.items():
        assert moved(before, after[role])
    report = made.report(row, **numbers)
    assert len(report.captions) == 11
    share = np.mean(report.ranks <= 5) * 100
    np.testing.assert_allclose(found["r@5"], share, atol=1e-4)
    # What is there is not trained again, nor is a score that is added.
    assert study(folder).result(row, **numbers) == found
    later = study(folder, metrics=["cider", "cider_r"])
    after = later.result(row, **numbers)
    assert found.items() <= after.items() and "beam_cider" in after
    place = folder / "points" / "psst_multinomial_lambda_0.01"
    kept = SpeakerReport.load(place / "captions.json")
    assert kept.scores["cider"] == after["cider"]
    assert later.result("listener_gt")["cider"] is None
    with pytest.raises(RuntimeError, match="trained again"):
        study(folder).result(row, lambda_=2e-2)


@pytest.mark.parametrize(
    "row, moving",
    [
        ("reinforce_joint", {"speaker", "listener"}),
        ("st_gumbel_annealed", {"speaker", "listener"}),
        ("psst_speaker", {"speaker"}),
        ("luo2018", {"speaker"}),
        ("sr_pl", {"speaker"}),
        ("g_gan", {"speaker"}),
        ("frozen_speaker_mle", {"listener"}),
    ],
)
def test_a_row_trains_whom_it_should(folder, alone, row, moving):
    after = weights(one_step(study(folder), row, lambda_=1e-2))
    assert all(np.isfinite(w).all() for ws in after.values() for w in ws)
    assert {k for k in alone if moved(alone[k], after[k])} == moving


def test_a_listener_learns_on_captions_of_a_speaker_that_was_trained(
    folder, monkeypatch
):
    made, asked = study(folder), []
    speaker = made.networks("speaker_mle")["speaker"]

    def trained(row, **point):
        asked.append((row, point))
        return {"speaker": speaker}

    monkeypatch.setattr(made, "trained", trained)
    networks = made.training("frozen_speaker_luo", lambda_=1e-2).networks
    assert networks["speaker"] is speaker and not speaker.trainable
    assert asked == [("luo2018", {"lambda_": 1e-2})]


def test_the_evaluator_of_g_gan_learns_alone_once(folder, untrained):
    # It has learned for the row that was trained above, or does so now.
    made = study(folder)
    model = made.training("g_gan").model
    speaker, evaluator = model.learners["speaker"], model.learners["evaluator"]
    assert set(model.learners) == {"speaker", "evaluator"}
    assert speaker.objective.decoder is evaluator.objective.decoder
    assert speaker.objective.reward.evaluator is evaluator.network
    assert speaker.objective.credit.num_continuations == 3
    again = pretrained_evaluator(made)
    assert not moved(again.get_weights(), evaluator.network.get_weights())
    # The speaker is read, not trained.
    roles = [path.stem for path in (folder / "gan_evaluator").glob("*.keras")]
    assert roles == ["evaluator"]


def test_points_are_decoded_greedily_and_by_beam_search(folder):
    made = study(folder)
    found = made.result("speaker_mle")
    names = "cider_d", "r@10", "fixed_r@10", "lm_log_prob", "unfinished_rate"
    assert {*names, *(f"beam_{name}" for name in names)} <= found.keys()
    assert not [name for name in found if name.startswith("beam_human")]
    evaluator = made.asked("speaker_mle", {})
    report = evaluator(decoder=made.decodings["beam"])()
    kept = SpeakerReport.load(folder / "speaker_mle" / "captions_beam.json")
    assert kept.captions == report.captions
    for name in names:
        assert found[f"beam_{name}"] == report.result()[name]


def test_one_speaker_has_a_point_for_every_guidance(folder):
    made = study(folder)
    speaker = made.trained("guided")["speaker"]
    assert speaker.condition_dropout == 0.1
    ask = made.asked("guided", {"gamma": 3.0})
    for decoder in made.decodings.values():
        assert ask(decoder=decoder).decoder.guidance == 3.0
        assert decoder.guidance == 1.0


@pytest.mark.parametrize("row", HUMAN)
def test_human_rows_have_the_recall_of_human_captions(folder, found, row):
    made = study(folder)
    own = found if row == "gt_on_psst_listener" else made.result("speaker_mle")
    human = made.result(row, lambda_=1e-2)
    assert human["r@5"] == own["human_r@5"]
    assert "cider_d" not in human
    assert human["lm_log_prob"] == own["human_lm_log_prob"]
    assert ("fixed_r@10" in human) == (row == "listener_gt")


def test_dropout_may_be_off_in_joint_training(folder):
    made = study(folder)
    before = {**made.networks("speaker_mle"), **made.networks("listener_gt")}
    assert before["speaker"].word_dropout.rate > 0
    assert before["listener"].word_dropout > 0
    networks = made.training("dense", lambda_=1e-2).networks
    assert networks["speaker"].word_dropout.rate == 0
    assert networks["listener"].word_dropout == 0


def test_cider_may_be_learned_before_anybody_listens(folder, alone, tmp_path):
    made = study(tmp_path, cider_epochs=1, pretrained=folder)
    after = made.networks("speaker_cider")["speaker"].get_weights()
    assert moved(alone["speaker"], after)
    assert (tmp_path / "speaker_cider" / "networks.json").exists()


@pytest.mark.parametrize(
    "name, kind",
    [
        ("hinge", HingeRetrievalLoss),
        ("contrastive", BidirectionalContrastiveLoss),
    ],
)
def test_settings_choose_the_listener_and_its_loss(tmp_path, name, kind):
    options = {"listener_pooling": "max", "listener_bag_of_words": True}
    temperature = {"listener_temperature": 0.3, "listener_epochs": 1}
    made = study(tmp_path, listener_loss=name, **options, **temperature)
    listener = made.networks("listener_gt")["listener"]
    assert isinstance(listener.loss, kind)
    assert listener.pooling == "max" and listener.bag_of_words
    if name == "contrastive":
        assert listener.loss.temperature == 0.3
        assert not listener.loss.decoupled


def test_a_study_goes_on_in_its_own_folder_only(folder):
    for change in ({"seed": 4}, {"units": 7}):
        with pytest.raises(ValueError, match="of another study's"):
            study(folder, **change)
    about = json.loads((folder / "study.json").read_text())
    assert about["seed"] == 3
    assert (folder / "vocabulary.json").exists()
