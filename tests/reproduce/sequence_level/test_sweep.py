import pytest

from reproduce.sequence_level import sequence_grid
from reproduce.sequence_level import sequence_sweep
from reproduce.sequence_level.sweep import main
from reproduce.sweep_grid import expand_grid
from tests.reproduce.captioning.tiny_study import data
from tests.reproduce.sequence_level.tiny_study import TINY


def test_a_grid_has_settings_where_they_matter():
    grid = sequence_grid(
        ["xe", "sll", "sll_me", "sll_sle"],
        [0, 1],
        alphas=[0.25, 0.5],
        rates=[1e-3, 1e-4],
        entropy_weights=[1e-1, 1e-2, 1e-3],
    )
    points = expand_grid(grid)
    count = {}
    for point in points:
        count[point["method"]] = count.get(point["method"], 0) + 1
    assert count == {
        "xe": 2,
        "sll": 2 * 2,
        "sll_me": 2 * 2 * 3,
        "sll_sle": 2 * 2 * 2,
    }
    assert [p["seed"] for p in points] == sorted(p["seed"] for p in points)


def test_rows_are_those_that_are_known():
    with pytest.raises(ValueError, match="`rows` must be among xe, mle, sll"):
        sequence_grid(["sle"])


def test_points_are_those_of_the_study(tmp_path, monkeypatch):
    asked = []

    def result(study, row, **point):
        asked.append((study.seed, row, point))
        return {"cider_d": 1.0}

    study = "reproduce.sequence_level.study.SequenceLevelStudy."
    monkeypatch.setattr(study + "result", result)
    monkeypatch.setattr(study + "report", lambda *row, **point: None)
    grid = sequence_grid(["xe", "sll_sle"], [0, 1], alphas=[0.5])
    sweep = sequence_sweep(tmp_path, data(), TINY, grid, verbose=0)
    assert sweep.work() == 0
    assert asked == [
        (0, "xe", {}),
        (0, "sll_sle", {"alpha": 0.5}),
        (1, "xe", {}),
        (1, "sll_sle", {"alpha": 0.5}),
    ]
    assert (tmp_path / "tensorboard/sll_sle/alpha=0.5,seed=1").is_dir()


def test_a_folder_without_data_is_an_error_in_words(tmp_path, capsys):
    command = [str(tmp_path / "out"), "--data", "flickr8k", "--root"]
    assert main([*command, str(tmp_path)]) == 2
    assert "`root` must hold one file dataset_" in capsys.readouterr().err
