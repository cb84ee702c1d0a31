import math

import numpy as np
import pytest
import tensorflow as tf

from tests.recipes.distinctive.tiny_study import study
from tfcap.recipes.distinctive import ROWS
from tfcap.recipes.study import Study

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


def moved(before, after):
    return any((a != b).any() for a, b in zip(before, after))


def forbid_training(monkeypatch):
    def never(*args, **options):
        raise RuntimeError("trained again")

    # By its globals: collected for its doctests, a module is there twice.
    monkeypatch.setitem(Study.fit.__globals__, "fit", never)


@pytest.mark.parametrize("row", ROWS)
def test_every_row_trains_the_speaker_and_no_retriever(folder, row):
    made = study(folder)
    before = made.trained("tf").get_weights()
    judges = {k: made.retriever(k) for k in ("retriever", "unseen")}
    weights = {k: judge.get_weights() for k, judge in judges.items()}
    scores = made.result(row)
    assert moved(before, made.trained(row).get_weights())
    for name, judge in judges.items():
        assert not moved(weights[name], judge.get_weights())
    assert all(math.isfinite(score) for score in scores.values())
    for name in ("r@1", "image_to_text_r@5", "unseen_r@10", "self_bleu"):
        assert name in scores


def test_what_is_there_is_not_trained_again(folder, monkeypatch):
    scores = study(folder).result("wtf_rl")
    forbid_training(monkeypatch)
    assert study(folder).result("wtf_rl") == scores
    with pytest.raises(RuntimeError):
        study(folder).result("wtf_rl", alpha=0.5)


def test_the_two_retrievers_are_unlike(folder):
    made = study(folder)
    fixed, unseen = made.retriever(), made.retriever("unseen")
    assert type(fixed) is not type(unseen)


def test_the_released_code_is_reinforcement_at_twice_the_weight(folder):
    made = study(folder)
    plans = {row: made.plan(row)[1] for row in ("rl", "wtf_rl_code")}
    (term,) = plans["rl"].objective.terms
    (twice,) = plans["wtf_rl_code"].objective.terms
    assert twice.weight == 2.0 * term.weight
    assert type(twice.estimator.decoder) is type(term.estimator.decoder)


def test_rivals_are_mined_once_and_may_be_done_without(folder, tmp_path):
    batch = study(folder).reward_batches().batch(0)
    assert batch["neighbor_image"].shape[:2] == (5, 2)
    assert (folder / "neighbors.npz").exists()
    alone = study(tmp_path, neighbors=0)
    assert "neighbor_image" not in alone.reward_batches().batch(0)


def test_scores_that_are_asked_for_later_are_added(folder, monkeypatch):
    before = study(folder).result("tf")
    forbid_training(monkeypatch)
    after = study(folder, metrics=["cider_r"]).result("tf")
    assert after.keys() - before.keys() == {"cider_r"}
    assert before.items() <= after.items()


def test_a_retriever_of_ones_own_is_taken_as_it_is(folder, tmp_path):
    own = study(folder).retriever()
    made = study(tmp_path, retriever=own, unseen=own)
    scores = made.result("tf")
    assert scores["r@5"] == scores["unseen_r@5"]
    assert not (tmp_path / "retriever").exists()


def test_a_row_that_is_resumed_ends_as_one_that_is_not(folder, tmp_path):
    own = {"retriever": study(folder).retriever(), "unseen": None}
    whole = study(tmp_path / "whole", **own).trained("rl").get_weights()
    first = study(tmp_path / "parts", **own)
    first.plan("rl")
    parts = study(tmp_path / "parts", **own).trained("rl").get_weights()
    for ours, theirs in zip(parts, whole):
        np.testing.assert_array_equal(ours, theirs)
