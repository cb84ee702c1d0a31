"""The costs of sequence-level learning are told; no test looks at a clock."""

import importlib.util
import pathlib

import numpy as np
import pytest
import tensorflow as tf

FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    specification = importlib.util.spec_from_file_location(
        "sequence_level", FOLDER / "sequence_level.py"
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_captions_have_an_end_and_words_of_the_vocabulary(benchmark):
    ids = benchmark.random_captions((50, 5, 9), 12, np.random.default_rng(0))
    assert ids.shape == (50, 5, 9) and ids.dtype == "int32"
    ends = np.argmax(ids == 2, axis=-1)
    assert set(ends.ravel()) == {7, 8}
    assert ((ids == 2).sum(axis=-1) == 1).all()
    after = np.arange(9) > ends[..., None]
    assert (ids[after] == 0).all()
    said = ids[~after & (ids != 2)]
    assert said.min() >= 4 and said.max() < 12


def test_costs_are_multiples_of_cross_entropy(benchmark):
    seconds = {"cross-entropy": [1, 10, 2], "PG": [3, 30, 8]}
    head, base, row = benchmark.table(seconds).splitlines()
    assert base.split() == ["cross-entropy", "1x", "1..1"]
    assert row.split() == ["PG", "3x", "3..3.5"]


@pytest.fixture
def eagerly():
    # A step costs less than the graph that would run it.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_every_update_runs(benchmark, capsys, monkeypatch):
    monkeypatch.setattr(benchmark, "PRETRAINING", 1)
    monkeypatch.setattr(benchmark, "DOCUMENTS", 5)
    sizes = "--batch 2 --length 4 --vocabulary 12 --units 4 --samples 2"
    benchmark.main([*sizes.split(), "--continuations=1", "--rounds=1"])
    told = capsys.readouterr().out
    for name in ("SLL,", "SLL-SLE,", "REINFORCE", "MIXER", "PG,"):
        assert f"\n{name}" in told
    assert told.count("x  ") == 6
