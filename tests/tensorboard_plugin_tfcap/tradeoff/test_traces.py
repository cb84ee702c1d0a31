import numpy as np

from tensorboard_plugin_tfcap.tradeoff.traces import label_places


def test_labels_of_marks_that_are_apart_are_all_there():
    x = 100 * np.arange(6.0)
    sides = label_places(x, x**2 / 500, [f"\u03bb = {i}" for i in range(6)])
    assert sides == ["top right"] * 6


def test_a_crowd_keeps_what_is_free():
    x = 700 * np.concatenate([np.full(30, 0.5), [0.0, 1.0]])
    y = 400 * np.concatenate([np.linspace(0.5, 0.501, 30), [0.0, 1.0]])
    sides = label_places(x, y, ["a label"] * 32)
    assert 2 <= sum(side is not None for side in sides) < 12


def test_no_label_lies_on_another():
    rng = np.random.default_rng(0)
    x, y = 600 * rng.random((2, 60))
    sides = label_places(x, y, ["0.001"] * 60)
    found = [place for place, side in enumerate(sides) if side]
    assert len(found) > 20 and len(set(sides)) > 2


def test_empty_names_need_no_place():
    assert label_places(np.zeros(1), np.zeros(1), [""]) == [None]
    assert label_places(np.zeros(0), np.zeros(0), []) == []
