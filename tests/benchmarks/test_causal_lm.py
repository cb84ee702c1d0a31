"""Processes take turns, and ratios are of words a second; no clock is read."""

import importlib
import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks"
WORKER = """
import sys
from lm_task import Turns
turns = Turns()
print("what libraries print")
turns.ready(weights=int(sys.argv[1]), versions={"a": "1"})
while turns.asked():
    turns.taken(tokens=7)
"""


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("causal_lm")


def commands(*weights):
    names = "ours", "TRL"
    return {
        name: [sys.executable, "-S", "-c", WORKER, str(count)]
        for name, count in zip(names, weights)
    }


def test_processes_take_a_step_when_they_are_asked(benchmark):
    costs = benchmark.turns(commands(5, 5), rounds=2)
    assert set(costs) == {"ours", "TRL"}
    for row in costs.values():
        assert row["words"] == [7, 7] and len(row["wall"]) == 2
        assert row["weights"] == 5 and row["peak"] > 1
    with pytest.raises(SystemExit, match="differ in their weights"):
        benchmark.turns(commands(5, 6), rounds=1)


def test_the_reward_reads_strings(benchmark):
    rewards = benchmark.lm_task.even_words(["w4 w5", "", "w6 <unk>"])
    assert rewards == [0.5, 0.0, 0.5]
    sizes = benchmark.lm_task.Sizes(prompt=3, vocabulary=9)
    prompts = benchmark.lm_task.prompt_ids(sizes, 2)
    assert [len(ids) for ids in prompts] == [3, 3]
    assert min(map(min, prompts)) >= 4 and max(map(max, prompts)) < 9


def test_ratios_are_of_words_a_second(benchmark):
    def costs(wall):
        row = {"words": [8, 8], "wall": wall, "cpu": wall}
        return {**row, "peak": 3.0, "grown": 1.0}

    step = {"ours": costs([1.0, 10.0]), "TRL": costs([2.0, 20.0])}
    found = benchmark.with_ratios(step, "TRL")
    assert found["wall_ratio"] == pytest.approx([2.0, 2.0, 2.0])
    alone = benchmark.with_ratios({"ours": costs([1.0, 4.0])}, "generate()")
    assert set(alone) == {"ours"}
    rows = [{"sizes": {"length": 4}, "step": found, "sampling": alone}]
    table = benchmark.table(rows)
    assert "ratio by wall: 2.00 (2.00 to 2.00)" in table
    assert table.count("words/s") == 3
