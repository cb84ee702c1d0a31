"""Goals are told beside what is reached; no test looks at a clock."""

import importlib
import pathlib

import keras
import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("peers")


@pytest.fixture
def tasks(peers):
    return importlib.import_module("tasks")


def test_the_worst_is_furthest_from_its_goal(peers):
    rows = [
        peers.Row("fast", 1.5, 3.0, 2.9, 3.1),
        peers.Row("late, CPU s", 5.0, 20.0, at_most=True),
        peers.Row("slow", 1.5, 0.75, 0.7, 0.8),
    ]
    assert [row.share for row in rows] == [2.0, 0.25, 0.5]
    head, fast, late, slow = peers.table(rows).splitlines()
    assert head.split() == "goal reached 95 % interval".split()
    assert fast.split() == "fast 1.5 3.00 2.90 to 3.10 met".split()
    assert late.split() == "late, CPU s <= 5 20.00".split()
    assert slow.split() == "slow 1.5 0.75 0.70 to 0.80".split()


def test_ratios_are_taken_round_by_round(peers):
    # A slow second round slows both, and the ratio does not notice.
    found = peers.interval([1.0, 10.0], [2.0, 20.0])
    assert found == pytest.approx([2.0, 2.0, 2.0])


def test_the_limit_is_the_work_of_rollouts_and_gradients(peers, tasks):
    work = {n: tasks.work(n, tasks.sizes_of(n)) / 1e9 for n in peers.GOALS}
    assert round(work["SCST"]) == 57
    assert work["XE"] < work["SCST"] < work["SLL"]
    assert work["ST-Gumbel"] < work["PSST"]


def test_rewards_of_the_peers_are_ours(tasks, monkeypatch):
    pytest.importorskip("pycocoevalcap")
    monkeypatch.setattr(tasks, "DOCUMENTS", 5)
    sizes = tasks.sizes_of("SCST", small=True)
    batch = tasks.batch_of(sizes)
    said = np.random.default_rng(0).integers(4, 20, (12, 3))
    loops, ours = (tasks.reward_of(sizes, batch, x) for x in (True, False))
    np.testing.assert_allclose(loops(said), ours(said))


def test_every_goal_has_its_steps(peers, tasks):
    ours = importlib.import_module("our_steps")
    assert {*peers.GOALS} == {*ours.STEPS}
    assert {*peers.FIRST} == {*ours.METHODS}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SCST", "PSST", "G-DIS"])
def test_a_peer_is_checked_with_a_step(peers, name, tmp_path, monkeypatch):
    ours = importlib.import_module("our_steps")
    # It is restored at the end: a check is a process of its own.
    monkeypatch.setattr(keras.random, "uniform", keras.random.uniform)
    ours.step(name, check=tmp_path / "ours.npz")
    found = np.load(tmp_path / "ours.npz")
    slopes = [found[x] for x in found if x.startswith("slope 0")]
    assert all(np.isfinite(x).all() for x in slopes)
    assert any(np.abs(x).max() > 0 for x in slopes) and "drawn 0" in found
