import numpy as np
import pytest

from tfcap.data.window_reader import spread_captions

UNLIKE = np.random.default_rng(3).integers(1, 8, 40)


def owners(counts):
    return np.repeat(np.arange(len(counts)), counts)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "counts, batch_size",
    [
        (np.full(8, 5), 8),  # every batch has every image
        (np.full(9, 5), 8),
        (np.full(50, 5), 8),
        (UNLIKE, 7),
        (UNLIKE, UNLIKE.sum() // 7),  # as many batches as captions of one
        (np.array([3, 1, 1]), 1),
        (np.ones(6, int), 6),
    ],
)
def test_no_batch_has_an_image_twice(counts, batch_size, seed):
    rng = np.random.default_rng(seed)
    order = spread_captions(counts, batch_size, rng)
    assert order.shape == (counts.sum() // batch_size, batch_size)
    assert len(set(order.ravel())) == order.size
    assert order.min() >= 0 and order.max() < counts.sum()
    for batch in owners(counts)[order]:
        assert len(set(batch)) == batch_size


def test_what_is_left_over_is_another_each_time():
    rng = np.random.default_rng(0)
    counts = np.full(11, 3)
    missing = np.zeros(33, int)
    for _ in range(200):
        order = spread_captions(counts, 8, rng)
        missing += ~np.isin(np.arange(33), order)
    # One of 33 is left over each time.
    assert missing.sum() == 200 and missing.max() < 20


def test_images_that_meet_once_need_not_meet_again():
    counts = np.full(40, 5)
    order = spread_captions(counts, 8, np.random.default_rng(0))
    images = owners(counts)[order]
    company = [
        len(set(images[(images == image).any(1)].ravel())) - 1
        for image in range(40)
    ]
    # Of 39 others: drawn at random 24, dealt in turn 7 to 14.
    assert 20 < np.mean(company) < 28


def test_any_batch_may_have_any_caption():
    counts, rng = np.array([2, 2, 2]), np.random.default_rng(0)
    seen = np.zeros((6, 2), int)
    for _ in range(600):
        order = spread_captions(counts, 3, rng)
        for batch in range(2):
            seen[order[batch], batch] += 1
    # Each caption is in one of two batches: binomial, deviation 12.
    assert abs(seen - 300).max() < 60
