import numpy as np

from tensorboard_plugin_tfcap.tradeoff.front import pareto_front


def test_the_front_is_what_a_loop_finds():
    rng = np.random.default_rng(0)
    points = np.round(rng.random((40, 2)), 1)
    wanted = {
        i
        for i, a in enumerate(points)
        if not any((b >= a).all() and (b > a).any() for b in points)
    }
    found = pareto_front(*points.T)
    assert set(found.tolist()) == wanted
    assert (np.diff(points[found, 0]) <= 0).all()


def test_a_turned_sign_is_a_turned_direction():
    # Both small: the first one is the best.
    found = pareto_front([-1.0, -2.0], [-1.0, -3.0])
    assert found.tolist() == [0]
