import numpy as np
import pytest

from reproduce.sweep_records import expand_grid
from reproduce.sweep_records import settings_key
from reproduce.sweep_records import settings_name


def test_a_grid_is_the_product_of_its_lists():
    points = expand_grid(
        {"method": ["psst", "st"], "lambda": (1e-3, 3e-3), "rho": None}
    )
    assert [(p["method"], p["lambda"], p["rho"]) for p in points] == [
        ("psst", 1e-3, None),
        ("psst", 3e-3, None),
        ("st", 1e-3, None),
        ("st", 3e-3, None),
    ]


def test_grids_are_joined_and_a_point_is_there_once():
    grid = [
        {"method": "psst", "rho": [0.25, 0.75], "seed": range(2)},
        {"method": "luo2018", "seed": np.arange(2)},
        {"seed": 1, "rho": 0.75, "method": "psst"},
    ]
    points = expand_grid(grid)
    assert len(points) == 6
    assert points[4:] == [
        {"method": "luo2018", "seed": 0},
        {"method": "luo2018", "seed": 1},
    ]


def test_values_stay_as_they_were_written():
    ((point),) = expand_grid({"rho": 1.0, "seed": [3]})
    assert type(point["rho"]) is float and type(point["seed"]) is int


@pytest.mark.parametrize(
    "settings",
    [
        {"seed": 0, "lambda": 1.0, "annealed": True, "rho": None},
        {"rho": None, "annealed": True, "lambda": 1, "seed": -0.0},
        {
            "lambda": np.float64(1),
            "annealed": np.bool_(True),
            "seed": np.int32(0),
            "rho": None,
        },
    ],
)
def test_one_point_has_one_key_and_one_name(settings):
    first = {"annealed": True, "lambda": 1, "rho": None, "seed": 0}
    assert settings_key(settings) == settings_key(first)
    assert settings_name(settings)[-8:] == settings_name(first)[-8:]


@pytest.mark.parametrize(
    "other",
    [{"a": 0}, {"a": True}, {"a": "1"}, {"a": 1.0000001}, {"a": 1, "b": None}],
)
def test_different_points_have_different_keys_and_names(other):
    assert settings_key(other) != settings_key({"a": 1})
    assert settings_name(other) != settings_name({"a": 1})


def test_names_are_those_of_files_whatever_the_settings():
    name = settings_name({"path": "../a b/\u00e9", "text": "x" * 300})
    assert name.startswith("path=.._a_b__,text=xxx") and len(name) < 120


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_without_an_order_are_refused(value):
    with pytest.raises(ValueError, match="lambda=nan|lambda=inf"):
        expand_grid({"lambda": [1.0, value]})


@pytest.mark.parametrize("value", [[[1]], {"a": 1}, [object()], 1j])
def test_values_that_are_no_setting_are_refused(value):
    with pytest.raises(TypeError, match="must hold strings, numbers"):
        expand_grid({"lambda": value})


def test_grids_without_a_point_are_refused():
    for grid in ({"lambda": []}, []):
        with pytest.raises(ValueError, match="must have a point"):
            expand_grid(grid)
    with pytest.raises(TypeError, match="a dict or a list of dicts"):
        expand_grid(["psst"])
    with pytest.raises(TypeError, match="by strings. Received: 1"):
        expand_grid({1: [2]})
