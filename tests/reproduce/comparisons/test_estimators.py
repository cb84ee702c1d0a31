"""Bias and variance of all estimators, in a world that is smaller still."""

import json

import numpy as np
import pytest

from reproduce.command import main
from reproduce.comparisons.estimators import costs
from reproduce.comparisons.estimators import figure
from reproduce.comparisons.estimators import measure
from reproduce.comparisons.estimators import registry
from reproduce.comparisons.estimators.measure import errors
from reproduce.comparisons.estimators.measure import estimates
from reproduce.comparisons.estimators.measure import exact_gradients
from reproduce.comparisons.estimators.registry import AXES
from reproduce.comparisons.estimators.registry import ESTIMATORS
from reproduce.comparisons.estimators.registry import Axis
from reproduce.comparisons.estimators.registry import Setting
from reproduce.comparisons.estimators.registry import measured_along
from reproduce.comparisons.estimators.small_world import UNITS
from reproduce.comparisons.estimators.small_world import World

WORLD = World(words=2, length=2, seeds=2)


@pytest.fixture(scope="module")
def exact():
    return exact_gradients(WORLD)


def expected_reward(table, inputs):
    """Of one speaker and listener, by a plain loop over all captions."""
    total = 0.0
    for caption in WORLD.captions():
        chance, last, state = 1.0, 1, np.zeros(UNITS)
        for word in caption[caption > 0]:
            p = np.exp(table[last, 2:])
            chance *= p[word - 2] / p.sum()
            read = inputs["embedding"][word]
            state = np.tanh(state @ inputs["recurrent"] + read)
            last = word
        total += chance * (state @ inputs["worth"])[0]
    return total


def test_the_exact_gradient_is_that_of_the_sum_over_captions(exact):
    every = WORLD.inputs()
    inputs = {k: v[1].astype("float64") for k, v in every.items()}
    found = exact[1].reshape(inputs["table"].shape)
    for place in ((1, 2), (1, 4), (3, 2), (4, 3)):
        step = np.zeros_like(inputs["table"])
        step[place] = 1e-4
        high, low = (
            expected_reward(inputs["table"] + sign * step, inputs)
            for sign in (1, -1)
        )
        assert found[place] == pytest.approx((high - low) / 2e-4, abs=1e-5)
    assert np.abs(found).max() > 0.01


@pytest.mark.parametrize("name", ["sum and sample", "REINFORCE, continuations"])
def test_estimates_without_bias_have_the_exact_mean(exact, name):
    found = estimates(name, WORLD, Setting(length=2), 3000)
    error = found.std(axis=1) / np.sqrt(3000)
    assert (np.abs(found.mean(axis=1) - exact) < 4.5 * error + 1e-7).all()


EXACT = np.array([[3.0, 4.0], [0.0, 5.0]])
NOISE = np.random.default_rng(0).normal(size=(2, 4000, 2))


def test_errors_are_relative_and_without_the_noise_of_the_mean():
    values = errors(EXACT[:, None] + [1.5, 2.0] + NOISE, EXACT)
    assert values["bias"][0] == pytest.approx(0.5, abs=0.02)
    assert values["deviation"][0] == pytest.approx(2**0.5 / 5, rel=0.05)
    centered = NOISE - NOISE.mean(1, keepdims=True)
    assert errors(centered, EXACT * 1e-9)["bias"][0] == 0.0


def test_a_length_of_its_own_is_told_from_a_direction_of_its_own():
    half = errors(EXACT[:, None] / 2 + NOISE, EXACT)
    assert half["bias"][0] == pytest.approx(0.5, abs=0.02)
    assert half["cosine"][0] == pytest.approx(1.0, abs=1e-3)
    # Of the length of 2.5, and a variance of 2.
    wanted = 2.5 / (2.5**2 + 2) ** 0.5
    assert half["correlation"][0] == pytest.approx(wanted, abs=0.01)
    double = errors(2 * (EXACT[:, None] / 2 + NOISE), EXACT)
    assert double["bias"][0] < 0.05
    for name in ("cosine", "correlation"):
        assert double[name][0] == pytest.approx(half[name][0])
    across = errors(EXACT[:, None, ::-1] * [1, -1] + NOISE, EXACT)
    assert across["cosine"][0] == pytest.approx(0.0, abs=0.02)


def test_dr_grpo_is_a_share_of_the_gradient_and_grpo_is_not(exact):
    found, other = (
        errors(
            estimates(name, WORLD, Setting(length=2, samples=4), 3000), exact
        )
        for name in ("Dr. GRPO", "GRPO")
    )
    # (S - 1) / (S * T) of it.
    assert found["bias"][0] == pytest.approx(1 - 3 / 8, abs=0.03)
    assert found["cosine"][0] > 0.99 > other["cosine"][0]


def test_estimators_are_measured_along_what_moves_them():
    for name, axes in (
        ("straight-through", {"words", "length", "samples", "ends"}),
        ("PSST Gumbel-Rao", {*AXES} - {"ends", "gae"}),
        ("RELAX", {"words", "length", "samples", "temperature"}),
        ("actor-critic", {"words", "length", "samples", "gae"}),
    ):
        assert {axis for axis in AXES if name in measured_along(axis)} == axes
    for axis, (_, shown) in AXES.items():
        assert set(shown) <= set(measured_along(axis))


def test_every_estimator_gives_a_gradient_of_each_row(monkeypatch):
    monkeypatch.setattr(measure, "CRITIC_STEPS", 1)
    sizes = {"size": 5, "state_units": WORLD.state_units}
    for name in ESTIMATORS:
        setting = Setting(length=2, draws=1, **sizes)
        found = estimates(name, WORLD, setting, 3)
        assert found.shape == (2, 3, 25) and np.isfinite(found).all(), name
        assert np.abs(found).max(axis=-1).max() > 0, name


@pytest.fixture
def few(monkeypatch):
    """Two estimators, one axis and small sizes stand for all."""
    names = "straight-through", "ReinMax-CV", "straight-through, expected end"
    kept = {name: ESTIMATORS[name] for name in names}
    monkeypatch.setattr(registry, "ESTIMATORS", kept)
    monkeypatch.setattr(costs, "ESTIMATORS", kept)
    axes = {
        **dict.fromkeys(figure.LABELS, Axis((), ())),
        "words": Axis((2, 3), names[:1]),
        "ends": Axis((False,), names[:1]),
        "draws": Axis((1, 2), names[1:2]),
    }
    for module in (registry, figure):
        monkeypatch.setattr(module, "AXES", axes)
    monkeypatch.setattr(costs, "WORDS", 5)


def test_costs_are_over_that_of_straight_through(few, monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(costs.time, "process_time", lambda: next(clock) ** 2)
    record = {"costs": {"straight-through": 1.0, "ReinMax-CV": 9.0}}
    assert costs.add_costs(record, rounds=1)
    # Each takes 4 ticks more than the one before.
    assert record["costs"] == {
        "straight-through": 1.0,
        "ReinMax-CV": 9.0,
        "straight-through, expected end": 5.0,
    }
    assert not costs.add_costs(record)


def test_the_command_keeps_a_record_and_a_figure(
    few, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(costs, "times", lambda jobs, _: dict.fromkeys(jobs, 1))
    arguments = ["estimators", "--out", str(tmp_path), "--seeds", "2"]
    path, picture = tmp_path / "estimators.json", tmp_path / "estimators.png"
    assert main([*arguments, "--rows", "4"]) == 0
    whole = json.loads(path.read_text())
    assert [*whole["estimators"]] == [*whole["costs"]] == [*costs.ESTIMATORS]
    draws = whole["axes"]["draws"]["ReinMax-CV"]
    assert [point["value"] for point in draws] == [1, 2]
    words = whole["axes"]["words"]["straight-through"]
    assert words[0]["bias"] != whole["estimators"]["straight-through"]["bias"]
    assert picture.stat().st_size > 10_000
    assert "| straight-through, expected end | the" in capsys.readouterr().out
    # What is missing is measured, and nothing else.
    kept = json.loads(path.read_text())
    del kept["estimators"]["ReinMax-CV"], kept["axes"]["draws"]["ReinMax-CV"][1]
    kept["axes"]["draws"]["ReinMax-CV"][0]["bias"] = [9.0, 9.0, 9.0]
    path.write_text(json.dumps(kept))
    monkeypatch.setattr(figure, "draw", lambda *_: None)
    assert main([*arguments, "--rows", "4"]) == 0
    again = json.loads(path.read_text())
    assert again["estimators"] == whole["estimators"]
    first, second = again["axes"]["draws"]["ReinMax-CV"]
    assert first["bias"] == [9.0, 9.0, 9.0] and second == draws[1]
    assert main([*arguments, "--rows", "5"]) == 2
    assert "must hold a record with the same options" in capsys.readouterr().err
