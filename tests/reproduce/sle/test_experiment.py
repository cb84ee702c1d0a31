import math

import keras
import numpy as np
import pytest

from reproduce.captioning.rewarded import reward_batches
from reproduce.sle.paper import SLE
from reproduce.spider.paper import SPIDER
from reproduce.spider.paper import stage_steps
from reproduce.study import Study
from reproduce.study import read_written
from tests.reproduce.sle.tiny_study import study
from tests.reproduce.training import break_off
from tests.reproduce.training import moved
from tests.reproduce.training import one_step
from tfcap.decoding import Greedy
from tfcap.objectives import DecoderBaseline
from tfcap.text import MissingScoreError

#: Papers by their rows.
ROWS = {row: paper for paper in (SLE, SPIDER) for row in paper.rows}
#: Rows whose reward is a program's.
WITH_JAVA = [row for row in ROWS if row.endswith(("spice", "spider"))]
#: A row of each method, and one for each kind of reward; the others differ from
#: one of these in an option of the method, or in a reward of its kind.
STEPPED = ("sll_sle", "pg_cider", "pg_bcmr", "pg_spider_spacy", "mixer_bleu4")

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the speaker has learned from people."""
    folder = tmp_path_factory.mktemp("study")
    study(folder).networks("speaker_mle")
    return folder


@pytest.fixture(scope="module")
def before(folder):
    """Weights of the speaker before it learns for a reward."""
    return study(folder).networks("speaker_mle")["speaker"].get_weights()


@pytest.fixture(scope="module")
def found(folder):
    """Scores of a row."""
    return study(folder).result("sll")


def test_a_row_is_trained_evaluated_and_kept(folder, before, found, untrained):
    made = study(folder)
    assert moved(before, made.trained("sll")["speaker"].get_weights())
    assert all(math.isfinite(score) for score in found.values())
    names = {"cider_d", "beam_cider_d", "rs_div_1", "beam_lm_log_prob"}
    assert names <= found.keys()
    count = len(made.data.test)
    assert len(made.report("sll").captions) == count
    several = read_written(made.path("rows/sll", "several.json"))
    shapes = {kind: np.shape(captions) for kind, captions in several.items()}
    assert shapes == {"rs": (count, 2), "bs": (count, 2)}
    # What is there is not trained again, nor is a score that is added.
    assert study(folder).result("sll") == found
    after = study(folder, metrics=["cider_r"]).result("sll")
    assert after.keys() - found.keys() == {"cider_r", "beam_cider_r"}
    assert found.items() <= after.items()
    with pytest.raises(RuntimeError, match="trained again"):
        study(folder).result("sll", rate=1e-3)


@pytest.mark.parametrize("row", [row for row in ROWS if row not in WITH_JAVA])
def test_every_row_trains_the_speaker(folder, row, before, few_words, request):
    if row.endswith("spacy"):
        request.getfixturevalue("scene_graphs")
    made = study(folder, paper=ROWS[row])
    if row not in STEPPED:
        assert "speaker" in made.training(row).networks
        return
    after = one_step(made, row)["speaker"].get_weights()
    assert moved(before, after)
    assert all(np.isfinite(array).all() for array in after)


@pytest.mark.parametrize("row", WITH_JAVA)
def test_a_metric_that_is_not_there_is_refused_with_the_cure(
    folder, row, monkeypatch
):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingScoreError, match="there is no `java`"):
        study(folder, paper=ROWS[row]).result(row)


@pytest.mark.parametrize("row", ["reinforce", "mixer_cider"])
def test_a_row_that_breaks_off_goes_on_as_if_it_had_not(
    folder, tmp_path, monkeypatch, row
):
    trained, fit = [], Study.fit

    def remembered(made, name, *args, **networks):
        trained.append(name)
        return fit(made, name, *args, **networks)

    monkeypatch.setattr(Study, "fit", remembered)
    options = {"paper": SPIDER, "reward_epochs": 2, "pretrained": folder}
    whole = study(tmp_path / "whole", **options).trained(row)["speaker"]
    # A baseline is fitted alone first; MIXER's has nothing to learn from.
    fitted = ["baselines/reinforce"] * (row == "reinforce")
    assert trained == [*fitted, f"rows/{row}"]
    break_off(study(tmp_path / "parts", **options), row)
    parts = study(tmp_path / "parts", **options).trained(row)["speaker"]
    assert not moved(parts.get_weights(), whole.get_weights())
    # And once.
    assert trained[-2:] == [f"rows/{row}"] * 2


def test_alpha_of_one_is_sequence_level_learning(folder):
    after = []
    for row, point in (("sll", {}), ("sll_sle", {"alpha": 1.0})):
        keras.utils.set_random_seed(0)
        speaker = one_step(study(folder), row, **point)["speaker"]
        after.append(speaker.get_weights())
    for ours, theirs in zip(*after):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def terms_of(training):
    return training.model.learners["speaker"].objective.terms


def test_rows_are_what_the_paper_makes_of_them(folder):
    made = study(folder, num_samples=2)
    training = made.training("sll_sle", alpha=0.7)
    (alpha, precision), (beta, diversity) = terms_of(training)
    # Equation 16: 2 (1 - alpha) / S times the sum over the others.
    assert (alpha, beta) == (0.7, pytest.approx(2 * 0.3 * 1 / 2))
    assert precision.decoder is diversity.decoder
    assert isinstance(precision.baseline, DecoderBaseline)
    assert isinstance(precision.baseline.decoder, Greedy)
    assert precision.baseline.reward is precision.reward
    assert diversity.reward.distance == "bleu"
    terms = terms_of(made.training("sll_sle_loo"))
    (alpha, _), (beta, diversity) = terms
    assert (alpha, beta) == (0.75, 0.125)
    assert diversity.reward.distance == "self_bleu"
    # Distance -0.5 of the code is 1 here: more alike than that all lose by it.
    for distance, baseline in ((0.2, 1.0), (1.6, 1.6)):
        rewards = np.full((1, 2), distance, "float32")
        np.testing.assert_allclose(diversity.baseline(rewards, None), baseline)
    for weight, point in ((1e-2, {}), (1e-3, {"entropy_weight": 1e-3})):
        _, bonus = terms_of(made.training("sll_me", **point))
        assert bonus.weight == weight and bonus.estimator.reward.per_word
    made = study(folder, paper=SPIDER)
    learners = made.training("pg_cider").model.learners
    (term,) = learners["speaker"].objective.terms
    assert term.estimator.credit.num_continuations == 1
    assert term.estimator.baseline.network is learners["baseline"].network
    training = made.training("mixer_bleu4")
    terms = terms_of(training)
    assert [term.weight for term in terms] == [0.5, 0.5]
    assert training.prepare is None


def test_half_of_the_steps_of_mixer_are_without_a_prefix(tmp_path):
    made = study(tmp_path, paper=SPIDER, reward_epochs=6)
    steps = 6 * reward_batches(made).steps_per_epoch
    stages = -(-made.settings.max_length // made.settings.mixer_delta)
    found = stage_steps(made.settings, reward_batches(made))
    assert stages * found == pytest.approx(steps / 2)
