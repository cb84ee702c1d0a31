"""Bias and variance of all estimators, in a world that is smaller still."""

import json

import numpy as np
import pytest

from reproduce.command import main
from reproduce.estimators import measure
from reproduce.estimators.measure import errors
from reproduce.estimators.measure import estimates
from reproduce.estimators.measure import exact_gradients
from reproduce.estimators.registry import ESTIMATORS
from reproduce.estimators.registry import Setting
from reproduce.estimators.small_world import UNITS
from reproduce.estimators.small_world import World

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


def test_every_estimator_gives_a_gradient_of_each_row(monkeypatch):
    monkeypatch.setattr(measure, "CRITIC_STEPS", 1)
    sizes = {"size": 5, "state_units": WORLD.state_units}
    for name in ESTIMATORS:
        setting = Setting(length=2, draws=1, **sizes)
        found = estimates(name, WORLD, setting, 3)
        assert found.shape == (2, 3, 25) and np.isfinite(found).all(), name
        assert np.abs(found).max(axis=-1).max() > 0, name


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
    assert (tmp_path / "estimators.png").stat().st_size > 10_000
    assert "ReinMax, expected end" in capsys.readouterr().out
    assert main([*arguments[:3], "--draw"]) == 0
    assert main([*arguments[:3], "--estimators", "Straight"]) == 2
