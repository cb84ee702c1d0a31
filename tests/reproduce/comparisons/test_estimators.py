"""Bias and variance of all estimators, in a world that is smaller still."""

import json

import numpy as np
import pytest

from reproduce.command import main
from reproduce.comparisons.estimators import costs
from reproduce.comparisons.estimators import measure
from reproduce.comparisons.estimators import page
from reproduce.comparisons.estimators.axes import AXES
from reproduce.comparisons.estimators.measure import errors
from reproduce.comparisons.estimators.measure import estimates
from reproduce.comparisons.estimators.measure import exact_gradients
from reproduce.comparisons.estimators.page import tables
from reproduce.comparisons.estimators.registry import ESTIMATORS
from reproduce.comparisons.estimators.registry import Setting
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


def test_errors_are_relative_and_without_the_noise_of_the_mean():
    rng = np.random.default_rng(0)
    exact = np.array([[3.0, 4.0], [0.0, 5.0]])
    found = exact[:, None] + [1.5, 2.0] + rng.normal(size=(2, 400, 2))
    values = errors(found, exact)
    assert values["bias"][0] == pytest.approx(0.5, abs=0.02)
    assert values["deviation"][0] == pytest.approx(2**0.5 / 5, rel=0.05)
    assert values["floor"] == pytest.approx(2**0.5 / 100, rel=0.05)
    centered = errors(found - found.mean(1, keepdims=True), exact * 1e-9)
    assert centered["bias"][0] == 0.0


def test_a_length_of_its_own_is_told_from_a_direction_of_its_own():
    rng = np.random.default_rng(0)
    exact = np.array([[3.0, 4.0], [0.0, 5.0]])
    noise = rng.normal(size=(2, 4000, 2))
    half = errors(exact[:, None] / 2 + noise, exact)
    assert half["bias"][0] == pytest.approx(0.5, abs=0.02)
    assert half["cosine"][0] == pytest.approx(1.0, abs=1e-3)
    # Of the length of 2.5, and a variance of 2.
    wanted = 2.5 / (2.5**2 + 2) ** 0.5
    assert half["correlation"][0] == pytest.approx(wanted, abs=0.01)
    double = errors(2 * (exact[:, None] / 2 + noise), exact)
    assert double["bias"][0] < 0.05
    for name in ("cosine", "correlation"):
        assert double[name][0] == pytest.approx(half[name][0])
    across = errors(exact[:, None, ::-1] * [1, -1] + noise, exact)
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
    names = ["straight-through", "PSST Gumbel-Rao", "RELAX", "actor-critic"]
    measured = {name: axis.measured(names) for name, axis in AXES.items()}
    assert measured["words"] == measured["samples"] == names
    assert measured["ends"] == names[:1]
    assert measured["temperature"] == names[1:3]
    assert measured["rho"] == measured["draws"] == names[1:2]
    assert measured["gae"] == names[3:]
    for axis in AXES.values():
        assert set(axis.shown) == set(axis.measured(axis.shown))


def test_every_estimator_gives_a_gradient_of_each_row(monkeypatch):
    monkeypatch.setattr(measure, "CRITIC_STEPS", 1)
    sizes = {"size": 5, "state_units": WORLD.state_units}
    for name in ESTIMATORS:
        setting = Setting(length=2, draws=1, **sizes)
        found = estimates(name, WORLD, setting, 3)
        assert found.shape == (2, 3, 25) and np.isfinite(found).all(), name
        assert np.abs(found).max(axis=-1).max() > 0, name


def test_costs_grow_over_that_of_straight_through(monkeypatch):
    monkeypatch.setattr(costs, "GROWN", {"words": (5, 9), "draws": (1, 2)})
    sizes = dict(zip(costs.Job._fields[1:], (5, 2, 2, 1)))
    monkeypatch.setattr(costs.Job.__new__, "__defaults__", (*sizes.values(),))
    asked = costs.missing_of({"words": {}}, ["straight-through", "ReinMax-CV"])
    assert asked == {"words": ["straight-through"], "draws": ["ReinMax-CV"]}
    clock = iter(range(1000))
    monkeypatch.setattr(costs.time, "process_time", lambda: next(clock) ** 2)
    grown = costs.grown_costs(asked, rounds=1)
    # Each takes 4 ticks more than the one before; one job is in both.
    assert grown == {
        "words": {
            "straight-through": [
                {"value": 5, "cost": 1.0},
                {"value": 9, "cost": 5.0},
            ]
        },
        "draws": {
            "ReinMax-CV": [
                {"value": 1, "cost": 9.0},
                {"value": 2, "cost": 13.0},
            ]
        },
    }
    assert not costs.missing_of(grown, ["straight-through", "ReinMax-CV"])
    record = {"estimators": {}, "costs": {}, "grown": grown}
    monkeypatch.setattr(page, "GROWN", costs.GROWN)
    assert tables(record)["Cost"].split("\n") == [
        "| estimator | V 5 | V 9 | K 1 | K 2 |",
        "|---|--:|--:|--:|--:|",
        "| straight-through | 1.0 | 5.0 |  |  |",
        "| ReinMax-CV |  |  | 9.0 | 13.0 |",
    ]


def test_the_command_keeps_a_record_and_a_figure(tmp_path, capsys):
    arguments = ["estimators", "--out", str(tmp_path), "--seeds", "2"]
    arguments += ["--rows", "4", "--axes", "ends,samples", "--no-costs"]
    arguments += ["--estimators", "ReinMax;ReinMax, expected end"]
    assert main(arguments) == 0
    record = json.loads((tmp_path / "estimators.json").read_text())
    assert list(record["estimators"]) == ["ReinMax", "ReinMax, expected end"]
    samples = [x["value"] for x in record["axes"]["samples"]["ReinMax"]]
    assert samples == [2, 4, 8]
    assert main(arguments) == 0
    more = [*arguments[:-1], "REINFORCE"]
    assert main([x.replace("ends,samples", "") for x in more]) == 0
    again = json.loads((tmp_path / "estimators.json").read_text())
    # Of what was measured, all commands; of what was there, none anew.
    first, second = again.pop("commands")
    assert record.pop("commands") == [first] and "REINFORCE" in second
    assert "--axes ends,samples --no-costs" in first
    del again["estimators"]["REINFORCE"]
    assert again == record
    name = "ReinMax, expected end"
    first = record["axes"]["samples"][name][0]
    assert first["bias"] == record["estimators"][name]["bias"]
    assert (tmp_path / "estimators.png").stat().st_size > 10_000
    assert "ReinMax, expected end" in capsys.readouterr().out
    # Times are drawn where there are any.
    line = [{"value": x, "cost": x / 2} for x in (2, 4)]
    times = {"costs": {"ReinMax": 1.0}, "grown": {"samples": {"ReinMax": line}}}
    before = (tmp_path / "estimators.png").read_bytes()
    whole = json.loads((tmp_path / "estimators.json").read_text()) | times
    (tmp_path / "estimators.json").write_text(json.dumps(whole))
    assert main([*arguments[:3], "--draw"]) == 0
    assert (tmp_path / "estimators.png").read_bytes() != before
    assert main([*arguments[:3], "--estimators", "Straight"]) == 2
