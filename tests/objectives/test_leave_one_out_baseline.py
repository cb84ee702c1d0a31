import numpy as np

from tfcap.objectives import LeaveOneOutBaseline


def test_leaving_one_out_by_a_loop():
    rewards = np.random.default_rng(0).normal(size=(3, 4))
    found = np.asarray(LeaveOneOutBaseline()(rewards, None))
    for row, s in np.ndindex(3, 4):
        others = np.delete(rewards[row], s)
        np.testing.assert_allclose(
            found[row, s], others.mean(), rtol=1e-6, atol=1e-6
        )
    # It costs no expectation: the advantages of a row sum to zero.
    np.testing.assert_allclose((rewards - found).sum(1), 0, atol=1e-12)
