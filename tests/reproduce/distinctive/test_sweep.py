import pytest
import tensorflow as tf

from reproduce.distinctive import distinctive_grid
from reproduce.distinctive import distinctive_sweep
from reproduce.distinctive.sweep import main
from reproduce.sweep_grid import expand_grid
from tests.reproduce.captioning.tiny_study import data
from tests.reproduce.distinctive.tiny_study import TINY


def test_a_grid_has_settings_where_they_matter():
    rows = ["tf", "wtf_rl", "scst_grammar"]
    points = expand_grid(distinctive_grid(rows, [0, 1], alphas=[0.9, 1.0]))
    names = ["tf", "wtf_rl", "wtf_rl", "scst_grammar"]
    assert [p["method"] for p in points] == names * 2
    assert [p["seed"] for p in points] == [0] * 4 + [1] * 4
    points = expand_grid(distinctive_grid(rows, rates=[1e-4]))
    assert ["rate" in p for p in points] == [False, True, True]
    points = expand_grid(distinctive_grid(rows, shifts=[0.1]))
    assert ["reward_shift" in p for p in points] == [False, True, False]


def test_rows_are_those_that_are_known():
    with pytest.raises(ValueError, match="`rows` must be among tf, wtf"):
        distinctive_grid(["wtfrl"])


def test_points_are_those_of_the_study(tmp_path, monkeypatch):
    asked = []

    def result(study, row, **point):
        asked.append((study.seed, row, point))
        return {"r@1": 1.0}

    study = "reproduce.distinctive.study.DistinctiveStudy."
    monkeypatch.setattr(study + "result", result)
    monkeypatch.setattr(study + "report", lambda *row, **point: None)
    grid = distinctive_grid(["tf", "wtf_rl"], [0, 1], alphas=[1.0])
    sweep = distinctive_sweep(tmp_path, data(), TINY, grid, verbose=0)
    assert sweep.work() == 0
    assert asked == [
        (0, "tf", {}),
        (0, "wtf_rl", {"alpha": 1.0}),
        (1, "tf", {}),
        (1, "wtf_rl", {"alpha": 1.0}),
    ]


def test_all_points_are_under_the_scope_of_the_caller(tmp_path, monkeypatch):
    scopes = []

    def result(*_, **__):
        scopes.append(tf.distribute.get_strategy())
        return {"r@1": 1.0}

    study = "reproduce.distinctive.study.DistinctiveStudy."
    monkeypatch.setattr(study + "result", result)
    monkeypatch.setattr(study + "report", lambda *row, **point: None)
    grid = distinctive_grid(["tf"], [0, 1])
    sweep = distinctive_sweep(tmp_path, data(), TINY, grid, verbose=0)
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        assert sweep.work() == 0
    assert scopes == [strategy, strategy]


def test_a_folder_without_data_is_an_error_in_words(tmp_path, capsys):
    command = [str(tmp_path / "out"), "--data", "flickr8k", "--root"]
    assert main([*command, str(tmp_path)]) == 2
    assert "`root` must hold one file dataset_" in capsys.readouterr().err
