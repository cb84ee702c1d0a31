import math

import numpy as np
import pytest
import tensorflow as tf

from reproduce.captioning.rewarded import reward_batches
from reproduce.experiment import Experiment
from reproduce.wtf_rl.retrievers import neighbors
from reproduce.wtf_rl.retrievers import retriever
from tests.reproduce.interruption import Interruption
from tests.reproduce.one_step import one_step
from tests.reproduce.wtf_rl.tiny_study import study
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import GroundTruth
from tfcap.decoding import Sample
from tfcap.objectives import ScoreFunction

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    # A dozen steps cost less than the graphs that would run them.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which speaker and retrievers have learned from people."""
    folder = tmp_path_factory.mktemp("study")
    study(folder).result("tf")
    return folder


@pytest.fixture(scope="module")
def before(folder):
    """Weights of the speaker before it learns for a reward."""
    return study(folder).trained("tf")["speaker"].get_weights()


def moved(before, after):
    return any((a != b).any() for a, b in zip(before, after))


def forbid_training(monkeypatch):
    def never(*args, **options):
        raise RuntimeError("trained again")

    monkeypatch.setattr(Experiment, "fit", never)


# Others differ from these in weights and directions, which are read below.
@pytest.mark.parametrize(
    "row", ["wtf_rl", "rl", "scst_discriminator", "scst_grammar"]
)
def test_every_row_trains_the_speaker_and_no_retriever(folder, row, before):
    made = study(folder)
    judge = retriever(made)
    weights = judge.get_weights()
    # The others would be kept and evaluated as this one is.
    evaluated = row == "wtf_rl"
    scores = made.result(row) if evaluated else {}
    trained = made.trained(row) if evaluated else one_step(made, row)
    after = trained["speaker"].get_weights()
    assert moved(before, after)
    assert all(np.isfinite(array).all() for array in after)
    assert not moved(weights, judge.get_weights())
    if not evaluated:
        return
    assert all(math.isfinite(score) for score in scores.values())
    for name in ("r@1", "image_to_text_r@5", "unseen_r@10", "self_bleu"):
        assert name in scores and f"greedy_{name}" in scores
    assert {"lm_log_prob", "greedy_lm_log_prob"} <= scores.keys()


def test_what_is_there_is_not_trained_again(folder, monkeypatch):
    scores = study(folder).result("wtf_rl")
    forbid_training(monkeypatch)
    assert study(folder).result("wtf_rl") == scores
    with pytest.raises(RuntimeError):
        study(folder).result("wtf_rl", alpha=0.5)


def test_the_two_retrievers_are_unlike(folder):
    made = study(folder)
    fixed, unseen = retriever(made), retriever(made, "unseen")
    assert type(fixed) is not type(unseen)


def test_the_released_code_is_reinforcement_at_twice_the_weight(folder):
    found = [terms(folder, row)[1]["said"] for row in ("rl", "wtf_rl_code")]
    (weight, term), (twice, same) = found
    assert twice == 2.0 * weight
    assert type(same.decoder) is type(term.decoder)


def test_rivals_are_mined_once_and_may_be_done_without(folder, tmp_path):
    made = study(folder)
    batch = reward_batches(made, **neighbors(made)).batch(0)
    assert batch["neighbor_image"].shape[:2] == (5, 2)
    assert (folder / "neighbors.npz").exists()
    alone = study(tmp_path, neighbors=0)
    assert neighbors(alone) == {}


def test_scores_that_are_asked_for_later_are_added(folder, monkeypatch):
    before = study(folder).result("tf")
    forbid_training(monkeypatch)
    after = study(folder, metrics=["cider_r"]).result("tf")
    assert after.keys() - before.keys() == {"cider_r", "greedy_cider_r"}
    assert before.items() <= after.items()


def test_a_retriever_of_ones_own_is_taken_as_it_is(folder, tmp_path):
    own = retriever(study(folder))
    with pytest.raises(ValueError, match="`given` must have a name"):
        study(tmp_path, given={"retriever": own})
    given = {"retriever": own, "unseen": own, "name": "own"}
    made = study(tmp_path, given=given)
    scores = made.result("tf")
    assert scores["r@5"] == scores["unseen_r@5"]
    assert not (tmp_path / "retriever").exists()
    for name in (None, "another"):
        given = {"retriever": own, "name": name} if name else None
        with pytest.raises(ValueError, match="another study's retriever"):
            study(tmp_path, given=given)


def terms(folder, row):
    """The model of a row; weight and estimator of each term by its name."""
    model = study(folder).training(row).model
    objective = model.learners["speaker"].objective
    found = {}
    for name, (weight, estimator) in objective.named_terms().items():
        assert isinstance(estimator, ScoreFunction)
        found[name] = (weight, estimator)
    return model, found


def test_rows_are_what_the_paper_makes_of_them(folder):
    model, found = terms(folder, "wtf_rl")
    said, human = found["said"][1], found["human"][1]
    assert isinstance(said.decoder, BeamSearch)
    assert isinstance(human.decoder, GroundTruth)
    assert said.reward is human.reward
    (alpha, contrast), (rest, judge) = said.reward.weighted
    assert (alpha, rest) == (0.94, pytest.approx(0.06))
    beam, greedy, people = contrast.texts
    assert beam is said.decoder and people is human.decoder
    assert isinstance(greedy, Greedy)
    assert contrast.directions == ("image", "text")
    assert contrast.credit == "own"
    assert judge.evaluator is model.learners["discriminator"].network
    for row, kept in (("wtf", "human"), ("rl", "said")):
        assert list(terms(folder, row)[1]) == [kept]
    _, found = terms(folder, "rl_unidirectional")
    contrast = found["said"][1].reward.weighted[0][1]
    assert contrast.directions == ("text",)


def test_self_critical_rows_stand_above_the_greedy_caption(folder):
    for row, decoder in (
        ("scst_discriminator", BeamSearch),
        ("scst_grammar", Sample),
    ):
        model, found = terms(folder, row)
        ((_, term),) = found.values()
        assert isinstance(term.decoder, decoder)
        assert isinstance(term.baseline.decoder, Greedy)
        assert term.baseline.reward is term.reward
    assert list(model.learners) == ["speaker"]
    (twice, similarity), (once, _) = term.reward.weighted
    assert (twice, once, similarity.weight) == (2.0, 1.0, 2.5)


def test_a_row_that_breaks_off_goes_on_as_if_it_had_not(folder, tmp_path):
    own = {"given": {"retriever": retriever(study(folder)), "name": "own"}}
    own |= {"reward_epochs": 2}
    # One learns from people itself; one is given what has learned from them.
    whole = (
        study(tmp_path / "whole", **own)
        .trained("wtf_rl")["speaker"]
        .get_weights()
    )
    study(tmp_path / "parts", **own, pretrained=folder).training("wtf_rl")
    broken = study(tmp_path / "parts", **own)
    broken._watch = lambda *_: [Interruption()]
    with pytest.raises(KeyboardInterrupt):
        broken.trained("wtf_rl")
    parts = (
        study(tmp_path / "parts", **own)
        .trained("wtf_rl")["speaker"]
        .get_weights()
    )
    for ours, theirs in zip(parts, whole):
        np.testing.assert_array_equal(ours, theirs)
