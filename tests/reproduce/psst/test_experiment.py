import json
import math

import numpy as np
import pytest
import tensorflow as tf

from reproduce.experiment import Experiment
from reproduce.psst.paper import HUMAN
from reproduce.psst.paper import PSST
from tests.reproduce.one_step import one_step
from tests.reproduce.psst.tiny_study import study
from tfcap._io import unsealed
from tfcap.training import SpeakerReport

JOINT = ("psst_", "st_", "dense", "reinforce_joint")
LISTENER_FROZEN = ("psst_speaker",)
# The others would be kept and evaluated as these are.
EVALUATED = ("psst_multinomial", "dense", "luo2018")
#: A row of each method, and of each thing that is made for a row here; what
#: the other options of a method do is in `tests/methods/test_golden.py`.
STEPPED = (
    *("psst_expected", "st_gumbel_annealed", "reinforce_joint", "psst_speaker"),
    *("sr_pl", "g_gan", "frozen_speaker_luo", "frozen_speaker_mle"),
)


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    # A dozen steps cost less than the graphs that would run them.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


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


def weights(networks):
    return {k: n.get_weights() for k, n in networks.items()}


def forbid_training(monkeypatch):
    def never(*args, **options):
        raise RuntimeError("trained again")

    monkeypatch.setattr(Experiment, "fit", never)


def moved(before, after):
    return any((a != b).any() for a, b in zip(before, after))


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
@pytest.mark.parametrize("method", PSST.rows)
def test_every_method_trains_whom_it_should(folder, alone, method):
    made = study(folder)
    if method in EVALUATED:
        scores = made.result(method, lambda_=1e-2)
        assert 0 <= scores["r@1"] <= scores["r@10"] <= 100
        assert all(math.isfinite(x) for x in scores.values())
        after = weights(made.trained(method, lambda_=1e-2))
    elif method in STEPPED:
        after = weights(one_step(made, method, lambda_=1e-2))
    else:
        # None has a frozen speaker.
        joint = method.startswith(JOINT)
        model = made.training(method, lambda_=1e-2).model
        assert [*model.learners] == ["speaker", "listener"][: 1 + joint]
        return
    assert all(np.isfinite(w).all() for ws in after.values() for w in ws)
    frozen = method.startswith("frozen_speaker")
    if method != "frozen_speaker_luo":
        changed = moved(alone["speaker"], after["speaker"])
        assert changed == (not frozen)
    joint = method.startswith(JOINT) and method not in LISTENER_FROZEN
    learns = joint or frozen
    assert moved(alone["listener"], after["listener"]) == learns


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_what_is_there_is_not_trained_again(folder, monkeypatch):
    scores = study(folder).result("dense", lambda_=1e-2)
    forbid_training(monkeypatch)
    assert study(folder).result("dense", lambda_=1e-2) == scores
    with pytest.raises(RuntimeError):
        study(folder).result("dense", lambda_=2e-2)


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_captions_are_kept_for_people_to_read(folder):
    made = study(folder)
    scores = made.result("dense", lambda_=1e-2)
    report = made.report("dense", lambda_=1e-2)
    assert len(report.captions) == 11
    found = np.mean(report.ranks <= 5) * 100
    np.testing.assert_allclose(scores["r@5"], found, atol=1e-4)


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
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


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_one_speaker_has_a_point_for_every_guidance(folder):
    made = study(folder)
    found = made.result("guided", gamma=3.0)
    assert {"cider_d", "fixed_r@10", "beam_cider_d"} <= found.keys()
    speaker = made.trained("guided")["speaker"]
    assert speaker.condition_dropout == 0.1
    ask = made.asked("guided", {"gamma": 3.0})
    for decoder in made.decodings.values():
        assert ask(decoder=decoder).decoder.guidance == 3.0
        assert decoder.guidance == 1.0


def outdated(folder):
    """Takes out of a record what was not always known."""
    path = folder / "result.json"
    found = unsealed(json.loads(path.read_text()))
    late = "beam_", "novel_", "lm_", "repeated_", "fixed_", "mean_length"
    kept = {k: v for k, v in found.items() if not k.startswith(late)}
    path.write_text(json.dumps(kept))
    return found, kept


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_records_of_before_are_brought_up_to_date_untrained(
    folder, monkeypatch
):
    study(folder).result("speaker_mle")
    study(folder).result("listener_gt")
    point = folder / "speaker_mle"
    whole, before = outdated(point)
    (point / "captions_beam.json").unlink()
    people, _ = outdated(folder / "listener_gt")
    forbid_training(monkeypatch)
    after = study(folder).result("speaker_mle")
    assert before.items() <= after.items()
    assert {k: v for k, v in whole.items() if k in after} == after
    assert after.keys() >= {"lm_log_prob", "beam_fixed_r@10", "novel_bigrams"}
    human = study(folder).result("listener_gt")
    assert human["fixed_r@10"] == human["r@10"]
    assert people["lm_log_prob"] == human["lm_log_prob"]
    assert human["lm_log_prob"] == after["human_lm_log_prob"]
    # Of captions that are kept, no network is asked.
    monkeypatch.setattr(Experiment, "asked", None)
    _, before = outdated(point)
    assert (
        study(folder).result("speaker_mle")["beam_lm_log_prob"]
        == (after["beam_lm_log_prob"])
    )


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
@pytest.mark.parametrize("row", HUMAN)
def test_human_rows_have_the_recall_of_human_captions(folder, row):
    made = study(folder)
    of = "psst_multinomial" if row == "gt_on_psst_listener" else "speaker_mle"
    whole = made.result(of, lambda_=1e-2)
    found = made.result(row, lambda_=1e-2)
    assert found["r@5"] == whole["human_r@5"]
    assert "cider_d" not in found
    assert found["lm_log_prob"] == whole["human_lm_log_prob"]


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_dropout_may_be_off_in_joint_training(folder):
    made = study(folder)
    before = {
        **made.networks("speaker_mle"),
        **made.networks("listener_gt"),
    }
    assert before["speaker"].word_dropout.rate > 0
    assert before["listener"].word_dropout > 0
    for row, numbers in (
        ("dense", {"lambda_": 1e-2}),
        ("frozen_speaker_mle", {}),
    ):
        networks = made.training(row, **numbers).networks
        assert networks["speaker"].word_dropout.rate == 0
        assert networks["listener"].word_dropout == 0


def test_lambda_weighs_the_sum_over_a_batch(folder):
    made = study(folder)
    game = made.training("psst_multinomial", lambda_=0.01).model
    discriminative, natural = game.learners["speaker"].objective.terms
    assert discriminative.weight == pytest.approx(0.01)
    assert discriminative.estimator.reduction == "sum"
    assert natural.weight == pytest.approx(0.99)
    learners = game.learners.values()
    assert len({id(player.objective) for player in learners}) == 1


def test_reinforce_alternates(folder):
    made = study(folder)
    game = made.training("reinforce_joint", lambda_=0.01).model
    assert [game.playing(turn) for turn in range(3)] == [
        ("speaker",),
        ("listener",),
        ("speaker",),
    ]


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_cider_may_be_learned_before_anybody_listens(tmp_path):
    made = study(tmp_path, cider_epochs=1)
    alone = made.networks("speaker_mle")["speaker"].get_weights()
    after = made.networks("speaker_cider")["speaker"].get_weights()
    assert moved(alone, after)
    assert (tmp_path / "speaker_cider" / "networks.json").exists()


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_held_out_images_are_evaluated_while_training(folder):
    made = study(folder, evaluate_every=1)
    seen = []
    made.say = seen.append
    made.trained("dense", lambda_=3e-2)
    assert any("dense" in line for line in seen)
    point = folder / "points" / "dense_lambda_0.03"
    assert list((point / "tradeoff").rglob("events*"))


def test_a_study_goes_on_in_its_own_folder_only(folder):
    study(folder)
    for change in ({"seed": 4}, {"units": 7}):
        with pytest.raises(ValueError, match="of another study's"):
            study(folder, **change)
    about = json.loads((folder / "study.json").read_text())
    assert about["seed"] == 3


def test_the_vocabulary_is_saved_beside_the_networks(folder):
    assert (folder / "vocabulary.json").exists()


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_a_score_that_is_wanted_later_needs_no_training(folder, monkeypatch):
    before = study(folder).result("dense", lambda_=1e-2)
    forbid_training(monkeypatch)
    made = study(folder, metrics=["cider", "cider_r"])
    after = made.result("dense", lambda_=1e-2)
    assert before.items() <= after.items() and "cider" in after
    kept = SpeakerReport.load(folder / "points/dense_lambda_0.01/captions.json")
    assert kept.scores["cider"] == after["cider"]
    assert made.result("listener_gt")["cider"] is None
