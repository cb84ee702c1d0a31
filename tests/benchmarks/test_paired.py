"""The harness computes what it says; no test looks at a clock."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

PATH = pathlib.Path(__file__).parents[2] / "benchmarks" / "paired.py"


@pytest.fixture(scope="module")
def paired():
    specification = importlib.util.spec_from_file_location("paired", PATH)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_ratios_are_taken_round_by_round(paired):
    # A slow second round slows both, and the ratio does not notice.
    seconds = {"ours": [1, 10, 1], "peer": [3, 30, 5]}
    assert paired.ratio(seconds, "ours", "peer") == (3, 3, 4)


def test_one_round_has_no_spread(paired):
    assert paired.ratio({"a": [2], "b": [3]}, "a", "b") == (1.5, 1.5, 1.5)


def test_every_contestant_is_warmed_up_and_timed_in_each_round(paired):
    called = []
    contestants = {
        "a": lambda: called.append("a"),
        "b": lambda: called.append("b"),
        "absent": None,
    }
    wall, cpu = paired.measure(contestants, rounds=3, least=0)
    assert set(wall) == set(cpu) == {"a", "b"}
    assert all(len(x) == 3 for x in [*wall.values(), *cpu.values()])
    assert "".join(called) == "aabb" + "aabb" + "bbaa" + "aabb"


def test_the_table_says_what_was_met_and_what_is_absent(paired):
    rows = [
        paired.Row("sort", "ours", "peer", "limit", floor=2, goal=5),
        paired.Row("sort", "ours", "torch"),
    ]
    wall = {"ours": [1, 1], "peer": [4, 4], "limit": [0.5, 0.5]}
    found = paired.results(rows, wall, {"ours": [1], "peer": [3]})
    assert found[0]["ratio"] == 4 and found[0]["limit_ratio"] == 8
    assert found[0]["cpu_ratio"] == 3
    head, first, second = paired.table(found).splitlines()
    assert head.split() == paired.HEAD
    assert first.split() == "sort peer 8x 4x 4..4 3x 2x 5x floor met".split()
    assert second.split() == ["sort", "torch", "absent"]


def test_one_thread_is_a_process_of_its_own(paired, tmp_path):
    script = tmp_path / "two.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(PATH.parent)!r})\n"
        "from paired import Row, main\n"
        "def contestants():\n"
        "    return {name: lambda: None for name in 'ab'}\n"
        "main(contestants, [Row('one', 'a', 'b')])\n"
    )
    path = tmp_path / "found.json"
    command = [sys.executable, script, "--rounds", "1", "--json", path]
    subprocess.run(command, check=True)
    (row,) = json.loads(path.read_text())
    assert row["ratio"] > 0 and row["cpu_ratio"] > 0
