import dataclasses
import json
import pathlib
from types import SimpleNamespace

import pytest

from reproduce.captioning.phases import self_critical
from reproduce.paper import build
from reproduce.psst.paper import AXES
from reproduce.psst.settings import ROWS
from reproduce.psst.settings import SETTINGS
from reproduce.psst.settings import PSSTSettings
from tests.eager import run_eagerly
from tests.methods import stranger
from tests.reproduce.psst.tiny_study import study
from tfcap.methods import psst
from tfcap.objectives import Episode
from tfcap.objectives import TeacherForcing
from tfcap.rewards import BLEU

RESULTS = pathlib.Path(__file__).parents[3] / "results"
#: How names of rows begin whose listener learns along.
JOINT = ("psst_", "st_", "dense", "reinforce_joint", "frozen_speaker")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which both learners have learned by themselves."""
    folder = tmp_path_factory.mktemp("study")
    with run_eagerly():
        for phase in ("speaker_mle", "listener_gt"):
            study(folder).networks(phase)
    return folder


@pytest.fixture
def experiment(folder):
    return study(folder)


def test_the_cooling_rho_falls_with_every_epoch_and_not_within_one(experiment):
    model = experiment.training("psst_soft_cooling", lambda_=1e-3).model
    steps = experiment.batches().steps_per_epoch
    (channel,) = model.scheduled()

    def rho(step):
        channel.step.assign(step)
        return float(channel.rho)

    assert rho(0) == rho(steps - 1) == 1.0
    assert rho(steps) == pytest.approx(0.5**0.5)
    assert rho(3 * steps) == pytest.approx(0.5)


def test_rows_of_partial_sampling_are_compared_at_the_same_rho():
    sampled = {row for row, about in ROWS.items() if about["method"] is psst}
    own = {row for row in sampled if "rho" in ROWS[row]}
    assert sampled - own <= set(AXES["rho"])


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_given_only_what_its_method_reads(row):
    settings = dataclasses.replace(SETTINGS["quick"], rho=0.5, temperature=0.7)
    about = SimpleNamespace(settings=settings, steps_per_epoch=2)
    given, reward = dict(ROWS[row]), BLEU(2, jit_compile=False)
    if given.get("naturalness"):
        given["naturalness"] = lambda about: reward
    networks = [stranger.speaker(), stranger.listener()]
    if "ensemble" in row or "alone" in row:
        networks[1] = [networks[1]]
    numbers = {
        "lambda_": 0.5,
        "naturalness": reward,
        "rho": settings.rho,
        "temperature": settings.temperature,
    }
    model = build(given, networks, numbers, about)
    joint = row.startswith(JOINT) and row != "psst_speaker"
    learners = {"speaker"} | ({"listener"} if joint else set())
    if row == "g_gan":
        learners = {"speaker", "evaluator"}
    if row.startswith("frozen_speaker"):
        learners = {"listener"}
    assert {*model.learners} == learners


@pytest.mark.parametrize("name", ["world", "flickr8k"])
def test_records_are_of_the_settings_that_are_there(name):
    text = (RESULTS / f"tradeoff_{name}" / "sweep.json").read_text()
    found = json.loads(text)["shared"]["settings"]
    usual = dataclasses.asdict(PSSTSettings())
    now = dataclasses.asdict(SETTINGS[name])
    assert found == {k: v for k, v in now.items() if v != usual[k]}


def test_lambda_weighs_the_sum_over_a_batch(experiment):
    model = experiment.training("psst_multinomial", lambda_=0.01).model
    discriminative, natural = objective_of(model).terms
    assert discriminative.weight == pytest.approx(0.01)
    assert discriminative.estimator.reduction == "sum"
    assert natural.weight == pytest.approx(0.99)
    assert len({id(x.objective) for x in model.learners.values()}) == 1


def test_reinforce_alternates(experiment):
    model = experiment.training("reinforce_joint", lambda_=0.01).model
    turns = [model.playing(turn) for turn in range(3)]
    assert turns == [("speaker",), ("listener",), ("speaker",)]


def objective_of(model):
    return model.learners["speaker"].objective


def test_human_captions_may_anchor_the_naturalness_term(experiment):
    inputs = experiment.batches().batch(0)
    speaker = experiment.networks("speaker_mle")["speaker"]

    def loss(objective):
        return float(objective.loss(Episode(speaker, inputs))[0])

    plain = loss(objective_of(self_critical(experiment, speaker)))
    likelihood = loss(TeacherForcing("token"))
    experiment.settings = dataclasses.replace(
        experiment.settings, human_weight=0.5
    )
    anchored = loss(objective_of(self_critical(experiment, speaker)))
    assert anchored == pytest.approx(plain + 0.5 * likelihood, rel=1e-5)


@pytest.mark.parametrize("method", ["reinforce_joint", "luo2018", "sr_pl"])
def test_reinforce_credits_a_caption_as_a_negative_or_as_the_code(
    experiment, method
):
    for name, credit in ((method, "batch"), (f"{method}_code", "own")):
        model = experiment.training(name, lambda_=1e-3).model
        term, _ = objective_of(model).terms
        assert term.estimator.reward.credit == credit
        assert term.estimator.baseline.reward is term.estimator.reward


def test_rows_of_an_ensemble_differ_in_one_thing_each(experiment):
    def made(row):
        training = experiment.training(row, lambda_=2.0)
        objective = objective_of(training.model)
        return training, [weight for weight, _ in objective.terms], objective

    training, weights, objective = made("retriever_ensemble")
    assert weights == [1.0, pytest.approx(0.3)]
    assert not training.networks["listener"].trainable
    assert training.batches.batch_size == len(experiment.data.train)
    reward = objective.terms[0][1].reward
    assert reward.terms[0] == "cider_d" and len(reward.terms) == 5
    assert {r.temperature for _, r in reward.weighted[2:]} == {0.01}
    alone = made("retriever_alone")[2].terms[0][1].reward
    assert alone.terms == ("cider_d", "overlong", "bidirectional_contrastive")
    reward = made("ensemble_without_cider")[2].terms[0][1].reward
    assert "cider_d" not in reward.terms and "overlong" in reward.terms
    assert made("ensemble_without_people")[1] == [1.0]
    assert len(made("ensemble_pathwise")[1]) == 3
    training, weights, objective = made("ensemble_weighted")
    reward = objective.terms[0][1].reward
    weights = [weight for weight, _ in reward.weighted]
    assert weights == pytest.approx([1 / 3] * 3 + [-0.05])
