import math

import numpy as np
import pytest
import tensorflow as tf

from reproduce.captioning.rewarded import reward_batches
from reproduce.experiment import Experiment
from reproduce.sle.paper import SLE
from reproduce.spider.paper import SPIDER
from reproduce.spider.paper import fitted_baseline
from reproduce.spider.paper import stage_steps
from reproduce.study import Study
from reproduce.study import read_written
from tests.reproduce.interruption import Interruption
from tests.reproduce.one_step import one_step
from tests.reproduce.sle.tiny_study import study
from tfcap.decoding import Greedy
from tfcap.objectives import DecoderBaseline
from tfcap.text import MissingScoreError

#: Papers by their rows.
ROWS = {row: paper for paper in (SLE, SPIDER) for row in paper.rows}
#: Rows whose reward is a program's.
WITH_JAVA = [row for row in ROWS if row.endswith(("spice", "spider"))]
# The others would be kept and evaluated as these are.
EVALUATED = ("sll", "reinforce")
#: A row of each method, and one for each kind of reward; the others differ from
#: one of these in an option of the method, or in a reward of its kind.
STEPPED = (
    *("sll_me", "sll_sle", "pg_cider", "pg_bcmr", "pg_spider_spacy"),
    "mixer_bleu4",
)

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    # A dozen steps cost less than the graphs that would run them.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the speaker has learned from people."""
    folder = tmp_path_factory.mktemp("study")
    study(folder).result("xe")
    return folder


@pytest.fixture(scope="module")
def before(folder):
    """Weights of the speaker before it learns for a reward."""
    return study(folder).networks("speaker_mle")["speaker"].get_weights()


def moved(before, after):
    return any((a != b).any() for a, b in zip(before, after))


def forbid_training(monkeypatch):
    def never(*args, **options):
        raise RuntimeError("trained again")

    monkeypatch.setattr(Experiment, "fit", never)


@pytest.mark.parametrize("row", [row for row in ROWS if row not in WITH_JAVA])
def test_every_row_trains_the_speaker(folder, row, before, few_words, request):
    if row.endswith("spacy"):
        request.getfixturevalue("scene_graphs")
    made = study(folder, paper=ROWS[row])
    if row not in EVALUATED + STEPPED:
        assert "speaker" in made.training(row).networks
        return
    if row not in EVALUATED:
        after = one_step(made, row)["speaker"].get_weights()
        assert moved(before, after)
        assert all(np.isfinite(array).all() for array in after)
        return
    scores = made.result(row)
    assert moved(before, made.trained(row)["speaker"].get_weights())
    assert all(math.isfinite(score) for score in scores.values())
    for name in ("cider_d", "beam_cider_d", "rs_div_1", "beam_lm_log_prob"):
        assert name in scores


@pytest.mark.parametrize("row", WITH_JAVA)
def test_a_metric_that_is_not_there_is_refused_with_the_cure(
    folder, row, monkeypatch
):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingScoreError, match="there is no `java`"):
        study(folder, paper=ROWS[row]).result(row)


def test_what_is_there_is_not_trained_again(folder, monkeypatch):
    scores = study(folder).result("sll")
    forbid_training(monkeypatch)
    assert study(folder).result("sll") == scores
    spider = study(folder, paper=SPIDER)
    assert spider.result("mle") == study(folder).result("xe")
    with pytest.raises(RuntimeError):
        study(folder).result("sll", rate=1e-3)


def test_captions_are_kept_for_people_to_read(folder):
    made = study(folder)
    made.result("sll")
    report = made.report("sll")
    assert len(report.captions) == len(made.data.test)
    several = read_written(made.path("rows/sll", "several.json"))
    assert {k: np.shape(v) for k, v in several.items()} == {
        "rs": (len(report.captions), 2),
        "bs": (len(report.captions), 2),
    }


def test_scores_that_are_asked_for_later_are_added(folder, monkeypatch):
    before = study(folder).result("sll")
    forbid_training(monkeypatch)
    after = study(folder, metrics=["cider_r"]).result("sll")
    assert after.keys() - before.keys() == {"cider_r", "beam_cider_r"}
    assert before.items() <= after.items()


def test_a_baseline_is_fitted_alone_first_and_once(folder, monkeypatch):
    made = study(folder, paper=SPIDER)
    made.result("reinforce")
    assert made.load("baselines/reinforce").keys() == {"baseline"}
    trained = []
    fit = Study.fit
    monkeypatch.setattr(
        Study,
        "fit",
        lambda *args, **told: trained.append(args[1]) or fit(*args, **told),
    )
    study(folder, paper=SPIDER).trained("reinforce", rate=1e-3)
    study(folder, paper=SPIDER).trained("mixer_cider", rate=1e-3)
    names = "reinforce_rate_0.001", "mixer_cider_rate_0.001"
    assert trained == [f"rows/{name}" for name in names]


def test_a_row_that_is_resumed_ends_as_one_that_is_not(folder, tmp_path):
    whole = study(tmp_path / "whole", paper=SPIDER).trained("reinforce")
    first = study(tmp_path / "parts", paper=SPIDER, pretrained=folder)
    first.networks("speaker_mle")
    fitted_baseline(first, "reinforce", {})
    parts = study(tmp_path / "parts", paper=SPIDER).trained("reinforce")
    whole, parts = (x["speaker"].get_weights() for x in (whole, parts))
    for ours, theirs in zip(parts, whole):
        np.testing.assert_array_equal(ours, theirs)


def test_alpha_of_one_is_sequence_level_learning(folder):
    made = study(folder)
    plain = made.trained("sll")["speaker"].get_weights()
    alone = made.trained("sll_sle", alpha=1.0)["speaker"].get_weights()
    for ours, theirs in zip(alone, plain):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_row_that_breaks_off_goes_on_as_if_it_had_not(folder, tmp_path):
    made = {}
    options = {"paper": SPIDER, "reward_epochs": 2, "pretrained": folder}
    for name in ("whole", "parts"):
        made[name] = study(tmp_path / name, **options)
    whole = made["whole"].trained("mixer_cider")["speaker"].get_weights()
    made["parts"]._watch = lambda *_: [Interruption()]
    with pytest.raises(KeyboardInterrupt):
        made["parts"].trained("mixer_cider")
    again = study(tmp_path / "parts", **options)
    parts = again.trained("mixer_cider")["speaker"].get_weights()
    for ours, theirs in zip(parts, whole):
        np.testing.assert_array_equal(ours, theirs)


def terms_of(training):
    return training.model.learners["speaker"].objective.terms


def test_rows_are_what_the_paper_makes_of_them(folder):
    made = study(folder, num_samples=2)
    terms = (
        made.training("sll_sle", alpha=0.7)
        .model.learners["speaker"]
        .objective.terms
    )
    (alpha, precision), (beta, diversity) = terms
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
        _, bonus = (
            made.training("sll_me", **point)
            .model.learners["speaker"]
            .objective.terms
        )
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


def test_a_score_that_is_watched_is_logged(tmp_path):
    made = study(tmp_path, evaluate_every=1)
    training = made.training("sll")
    watch = made._watch("rows/sll", "sll", {}, training)
    kinds = [type(c).__name__ for c in watch]
    assert kinds == ["EvaluationCallback", "FallingScoreWarning"]
    assert study(tmp_path)._watch("rows/sll", "sll", {}, training) == []
