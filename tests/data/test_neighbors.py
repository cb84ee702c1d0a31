import numpy as np
import pytest

from tfcap.data import nearest_neighbors
from tfcap.data.neighbors import draw_in_batch
from tfcap.data.neighbors import draw_wrong_options

RNG = np.random.default_rng(0)
EMBEDDINGS = RNG.normal(size=(57, 6)).astype("float32")


def by_sorting(embeddings, k):
    scores = embeddings @ embeddings.T
    np.fill_diagonal(scores, -np.inf)
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("k", [1, 5, 56])
@pytest.mark.parametrize("block", [1024, 10, 57])
def test_neighbours_are_those_of_a_sort(k, block):
    found = nearest_neighbors(EMBEDDINGS, k, block)
    assert found.shape == (57, k) and found.dtype == "int32"
    np.testing.assert_array_equal(found, by_sorting(EMBEDDINGS, k))


@pytest.mark.parametrize("block", [1024, 7])
def test_of_equally_near_ones_the_first_come_first(block):
    whole = RNG.integers(0, 2, size=(40, 3))
    found = nearest_neighbors(whole, 4, block)
    np.testing.assert_array_equal(found, by_sorting(whole.astype("f4"), 4))


def test_what_makes_no_sense_is_refused():
    for k in (0, 57):
        with pytest.raises(ValueError, match=f"`k` must be.*k={k}"):
            nearest_neighbors(EMBEDDINGS, k)
    with pytest.raises(ValueError, match=r"\(57,\)"):
        nearest_neighbors(EMBEDDINGS[:, 0], 1)


def test_wrong_options_are_distinct_and_never_the_truth():
    options = np.arange(50 * 20).reshape(50, 20)
    gt = RNG.integers(0, 20, 50)
    drawn = draw_wrong_options(options, gt, 12, RNG)
    for row in range(50):
        assert len(set(drawn[row])) == 12
        assert set(drawn[row]) <= set(options[row]) - {options[row, gt[row]]}


def test_all_wrong_options_can_be_drawn_and_are_equally_likely():
    options = np.tile(np.arange(8), (20_000, 1))
    drawn = draw_wrong_options(options, np.full(20_000, 3), 2, RNG)
    counts = np.bincount(drawn.reshape(-1), minlength=8)
    assert counts[3] == 0
    share = np.delete(counts, 3) / counts.sum()
    np.testing.assert_allclose(share, 1 / 7, atol=0.005)
    every = draw_wrong_options(options[:1], np.array([3]), 7, RNG)
    assert sorted(every[0]) == [0, 1, 2, 4, 5, 6, 7]


def test_in_batch_negatives_come_from_other_present_questions():
    wrong = np.arange(6 * 4).reshape(6, 4)
    present = np.array([True, True, False, True, True, True])
    drawn = draw_in_batch(wrong, present, 5_000, RNG)
    assert (drawn[2] == -1).all()
    for row in np.flatnonzero(present):
        others = np.flatnonzero(present & (np.arange(6) != row))
        assert set(drawn[row]) == set(wrong[others].reshape(-1))
        counts = np.bincount(drawn[row], minlength=24)[wrong[others]]
        np.testing.assert_allclose(counts / 5_000, 1 / 16, atol=0.02)
