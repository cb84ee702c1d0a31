import dataclasses

import pytest

from reproduce.captioning import METHODS
from reproduce.captioning.methods import Task
from reproduce.captioning.phases import naturalness
from tests.reproduce.captioning.tiny_study import study
from tfcap.objectives import Episode
from tfcap.objectives import TeacherForcing


@pytest.fixture
def task(tmp_path):
    made = study(tmp_path)
    speaker = made.networks("speaker_mle")["speaker"]
    listener = made.networks("listener_gt")["listener"]
    return Task(made, speaker, listener, 1e-3, 0.25, 1.0)


def test_the_cooling_rho_falls_with_every_epoch_and_not_within_one(task):
    _, (anneal,) = METHODS["psst_soft_cooling"](task)
    steps = task.study.batches().steps_per_epoch
    first, last = anneal.schedule(0), anneal.schedule(steps - 1)
    assert first == last == 1.0
    assert anneal.schedule(steps) == pytest.approx(0.5**0.5)
    assert anneal.schedule(3 * steps) == pytest.approx(0.5)


def test_human_captions_may_anchor_the_naturalness_term(task):
    inputs = task.study.batches().batch(0)

    def loss(objective):
        return float(objective.loss(Episode(task.speaker, inputs))[0])

    plain, likelihood = (
        loss(naturalness(task.study)),
        loss(TeacherForcing("token")),
    )
    task.study.settings = dataclasses.replace(task.settings, human_weight=0.5)
    anchored = loss(naturalness(task.study))
    assert anchored == pytest.approx(plain + 0.5 * likelihood, rel=1e-5)


@pytest.mark.parametrize("method", ["reinforce_joint", "luo2018", "sr_pl"])
def test_reinforce_credits_a_caption_as_a_negative_or_as_the_code(task, method):
    for name, credit in ((method, "batch"), (f"{method}_code", "own")):
        game, _ = METHODS[name](task)
        term, _ = game.players["speaker"].objective.terms
        assert term.estimator.reward.credit == credit
        assert term.estimator.baseline.reward is term.estimator.reward
