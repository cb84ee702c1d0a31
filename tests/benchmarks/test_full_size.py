"""Files of published sizes, a thousandth of them; no test looks at a clock."""

import importlib
import json
import pathlib

import numpy as np
import pytest

from reproduce.visdial import visdial_data
from tfcap.data import load_captions
from tfcap.data import load_features

FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks"
SHARE = 5e-4


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("full_size")


def test_files_of_coco_are_those_that_are_published(benchmark, tmp_path):
    benchmark.write_coco(tmp_path, SHARE)
    splits = {"train": 41, "restval": 15, "val": 2, "test": 2}
    for name, size in splits.items():
        found = load_captions(tmp_path / "dataset_coco.json", name)
        assert len(found) == size
        assert all(len(texts) >= 5 for texts in found.captions)
        features = load_features(tmp_path / "features.h5", found.image_ids)
        assert features.shape == (size, 36, 2048)
        assert 0.5 <= features.min() and features.max() < 1
        assert len(np.unique(features)) == 1024


def test_files_of_visdial_are_those_that_are_published(benchmark, tmp_path):
    benchmark.write_visdial(tmp_path, SHARE)
    data = visdial_data(tmp_path)
    assert [len(x) for x in (data.train, data.validation, data.test)] == [
        56,
        6,
        1,
    ]
    assert data.train.options.shape == (56, 10, 100)
    assert data.train_features.shape == (56, 49, 512)


def test_a_spinning_disk_likes_windows(benchmark, tmp_path, monkeypatch):
    benchmark.write_coco(tmp_path, 4 * SHARE)
    monkeypatch.setattr("tfcap.data.mapped_features.LARGE", 1)
    steps, size = {"steps": 2, "batch_size": 32}, 36 * 2048 * 2
    reader = benchmark.training_features(tmp_path)
    assert len(reader) == 166
    seeks, seconds = benchmark.spinning_disk(reader, "auto", **steps)
    # Images of other splits lie between them.
    assert seeks < 8 and seconds < seeks * 8e-3 + 2 * 32 * size / 120e6
    seeks, apart = benchmark.spinning_disk(reader, None, **steps)
    assert seeks > 15 and apart > 1.2 * seconds
    # Fewer images than are asked for.
    seeks, _ = benchmark.spinning_disk(reader, None)
    assert 0 < seeks <= 128


def test_a_run_ends_with_its_first_step_and_tells_of_it(benchmark, monkeypatch):
    told = {"begun": 1.0, "ended": 2.0, "cpu": 3.0, "gigabytes": 4.0}
    lines = ["before", f"first step: {json.dumps(told)}"]
    asked = []

    def run(command, **options):
        asked.append(command)
        return type("Done", (), {"stdout": "\n".join(lines)})

    monkeypatch.setattr("subprocess.run", run)
    found = benchmark.run_first_step("examples/a.py --b c", "root", "o", "k")
    assert found == told
    assert asked[0][-6:] == ["--b", "c", "--root", "root", "--out", "o"]
    lines.pop()
    with pytest.raises(RuntimeError, match="without a step:\nbefore"):
        benchmark.run_first_step("examples/a.py", "root", "o", "k")
