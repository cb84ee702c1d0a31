import math

import numpy as np
import pytest

from reproduce.captioning.rewarded import reward_batches
from reproduce.wtf_rl.retrievers import neighbors
from reproduce.wtf_rl.retrievers import retriever
from tests.reproduce.training import moved
from tests.reproduce.training import one_step
from tests.reproduce.wtf_rl.tiny_study import study
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import GroundTruth
from tfcap.decoding import Sample
from tfcap.objectives import ScoreFunction

pytestmark = pytest.mark.usefixtures("eagerly")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which speaker and retrievers have learned from people."""
    folder = tmp_path_factory.mktemp("study")
    made = study(folder)
    made.networks("speaker_mle"), retriever(made), retriever(made, "unseen")
    return folder


@pytest.fixture(scope="module")
def before(folder):
    """Weights of the speaker before it learns for a reward."""
    return study(folder).trained("tf")["speaker"].get_weights()


@pytest.fixture(scope="module")
def found(folder):
    """Scores of the speaker alone."""
    return study(folder).result("tf")


def test_a_row_is_evaluated_by_both_retrievers_and_kept(
    folder, found, untrained
):
    assert all(math.isfinite(score) for score in found.values())
    for name in ("r@1", "image_to_text_r@5", "unseen_r@10", "self_bleu"):
        assert name in found and f"greedy_{name}" in found
    assert {"lm_log_prob", "greedy_lm_log_prob"} <= found.keys()
    # What is there is not trained again, nor is a score that is added.
    assert study(folder).result("tf") == found
    after = study(folder, metrics=["cider_r"]).result("tf")
    assert after.keys() - found.keys() == {"cider_r", "greedy_cider_r"}
    assert found.items() <= after.items()
    with pytest.raises(RuntimeError, match="trained again"):
        study(folder).result("wtf", alpha=0.5)


# Others differ from these in weights and directions, which are read below.
@pytest.mark.parametrize("row", ["wtf_rl", "scst_grammar"])
def test_every_row_trains_the_speaker_and_no_retriever(folder, row, before):
    made = study(folder)
    judge = retriever(made)
    weights = judge.get_weights()
    after = one_step(made, row)["speaker"].get_weights()
    assert moved(before, after)
    assert all(np.isfinite(array).all() for array in after)
    assert not moved(weights, judge.get_weights())
    assert type(judge) is not type(retriever(made, "unseen"))


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
