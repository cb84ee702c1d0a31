"""What the steps need is told; no test looks at a clock."""

import importlib.util
import json
import pathlib
import sys

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    specification = importlib.util.spec_from_file_location(
        "training_step", FOLDER / "training_step.py"
    )
    module = importlib.util.module_from_spec(specification)
    # Dataclasses look for the module that they are in.
    monkeypatch.setitem(sys.modules, "training_step", module)
    specification.loader.exec_module(module)
    return module


def tiny(benchmark):
    return benchmark.Sizes(4, 3, 20, 5, 6, 7, samples=2)


def test_the_limit_is_the_work_of_rollouts_and_gradients(benchmark):
    sizes = benchmark.Sizes()
    assert round(benchmark.work("SCST", sizes) / 1e9) == 57
    assert benchmark.work("XE", sizes) < benchmark.work("SCST", sizes)
    assert benchmark.work("PSST", sizes) > benchmark.work("ST-Gumbel", sizes)


def test_rewards_of_the_peers_are_ours(benchmark):
    pytest.importorskip("pycocoevalcap")
    sizes, rng = tiny(benchmark), np.random.default_rng(0)
    batch = benchmark.make_batch(sizes, rng)
    _, vectorized, loops = benchmark.make_rewards(sizes, batch, rng)
    said = rng.integers(4, 20, (8, 3))
    np.testing.assert_allclose(vectorized(said, 2), loops(said, 2))


def test_every_row_compares_what_there_is(benchmark, monkeypatch):
    names = set(benchmark.makers(tiny(benchmark)))
    for row in benchmark.ROWS:
        assert {row.ours, row.peer} <= names
        assert row.limit is None or row.limit in names
    assert {*benchmark.MEMORY} <= names
    for grown in benchmark.GROWING.values():
        assert {*grown} <= names


def test_what_grows_is_told_and_drawn(benchmark, monkeypatch, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    costs = benchmark.step_costs
    monkeypatch.setattr(
        costs, "in_a_process", lambda names, **size: dict.fromkeys(names, [0.5])
    )
    told = costs.growth({"batch": (1, 2)}, {None: ("SCST",)})
    assert told == {"batch": {1: {"SCST": 0.5}, 2: {"SCST": 0.5}}}
    assert "batch 2: SCST 500 ms" in capsys.readouterr().out
    costs.draw({**told, "length": told["batch"]}, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 1000


@pytest.mark.slow
def test_a_step_runs_and_has_a_peak(benchmark, monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "DOCUMENTS", 5)
    sizes = {"batch": 4, "length": 3, "vocabulary": 20, "units": 5}
    names = ["SCST", "limit of SCST"]
    wanted = json.dumps({"names": names, "sizes": sizes, "memory": True})
    monkeypatch.setattr(sys, "argv", ["training_step.py", "--point", wanted])
    assert benchmark.step_costs.main(benchmark.contestants, [], {})
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(told) == {"SCST", "limit of SCST"}
    assert all(np.isfinite(peak) and peak >= 0 for peak in told.values())
