import pytest

from tests.recipes.captioning.tiny_study import TINY
from tests.recipes.captioning.tiny_study import data
from tfcap.recipes.captioning import tradeoff_grid
from tfcap.recipes.captioning import tradeoff_sweep
from tfcap.recipes.captioning.sweep import main
from tfcap.training.sweep_grid import expand_grid


def test_a_grid_has_lambdas_rhos_and_temperatures_where_they_matter():
    grid = tradeoff_grid(
        ["psst_gumbel", "st_gumbel", "luo2018", "speaker_mle", "g_gan"],
        [1e-3, 2e-3],
        seeds=[0, 1],
        rhos=[0.25, 0.5],
        taus=[1.0, 0.5, 0.1],
    )
    points = expand_grid(grid)
    count = {}
    for point in points:
        count[point["method"]] = count.get(point["method"], 0) + 1
    assert count == {
        "psst_gumbel": 2 * 2 * 2 * 3,
        "st_gumbel": 2 * 2 * 3,
        "luo2018": 2 * 2,
        "speaker_mle": 2,
        "g_gan": 2,
    }
    # Seed by seed, so that a sweep that is stopped has whole curves.
    assert [p["seed"] for p in points] == sorted(p["seed"] for p in points)


def test_methods_are_those_that_are_known():
    with pytest.raises(ValueError, match="`methods` must be among"):
        tradeoff_grid(["psst"])


def test_points_are_those_of_the_study(tmp_path, monkeypatch):
    asked = []

    def result(study, *point):
        asked.append((study.seed, *point))
        return {"cider_d": 1.0}

    name = "tfcap.recipes.captioning.study.CaptioningStudy.result"
    monkeypatch.setattr(name, result)
    grid = tradeoff_grid(["psst_multinomial", "speaker_mle"], [1e-3], [0, 1])
    sweep = tradeoff_sweep(tmp_path, data(), TINY, grid, verbose=0)
    assert sweep.work() == 0
    assert asked == [
        (0, "psst_multinomial", 1e-3, None, None),
        (0, "speaker_mle", None, None, None),
        (1, "psst_multinomial", 1e-3, None, None),
        (1, "speaker_mle", None, None, None),
    ]
    with pytest.raises(ValueError, match="same shared"):
        tradeoff_sweep(tmp_path, data(), TINY, grid, split="validation")


def test_finished_points_are_evaluated_again_where_they_are_kept(
    tmp_path, monkeypatch
):
    found = {"cider_d": 1.0}
    name = "tfcap.recipes.captioning.study.CaptioningStudy.result"
    monkeypatch.setattr(name, lambda study, *point: dict(found))
    grid = tradeoff_grid(["luo2018"], [1e-3])
    about = tmp_path, data(), TINY, grid, 0
    assert tradeoff_sweep(*about).work() == 0
    found |= {"cider_d": 2.0, "lm_log_prob": -2.0, "beam_lm_log_prob": -3.0}
    assert tradeoff_sweep(*about).work() == 0
    assert "lm_log_prob" not in tradeoff_sweep(*about).records()[0]
    again = tradeoff_sweep(*about, evaluate_again=True)
    assert again.work() == 0
    (record,) = again.records()
    # What was found first stands.
    assert record["cider_d"] == 1.0 and record["beam_lm_log_prob"] == -3.0
    (tmp_path / "seed_0").rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="`evaluate_again`.*without seed_0"):
        tradeoff_sweep(*about, evaluate_again=True)


def test_a_folder_without_data_is_an_error_in_words(tmp_path, capsys):
    command = [str(tmp_path / "out"), "--data", "flickr8k", "--root"]
    assert main([*command, str(tmp_path)]) == 2
    assert "`root` must hold one file dataset_" in capsys.readouterr().err
