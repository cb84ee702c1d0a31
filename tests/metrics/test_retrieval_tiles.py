import numpy as np
import pytest

from tfcap.metrics.retrieval_counts import lay_tiles

RNG = np.random.default_rng(0)
CASES = {
    "one to one": np.arange(11),
    "several in order": np.repeat(np.arange(11), 3),
    "shuffled": RNG.permutation(np.repeat(np.arange(11), 3)),
    "distractors": RNG.integers(-1, 11, size=40),
    "only distractors": np.full(40, -1),
    "all of one image": np.full(40, 5),
    "none": np.zeros(0, "int64"),
}


@pytest.mark.parametrize("block_size", [1, 2, 4, 7, 100])
@pytest.mark.parametrize("ids", CASES.values(), ids=CASES)
def test_tiles_hold_every_pair_once_and_truths_first(ids, block_size):
    shape = 11, len(ids)
    tiles = lay_tiles(ids, shape, block_size)
    most = np.bincount(ids[ids >= 0], minlength=1).max()
    seen, truths = np.zeros(shape, int), np.zeros(shape, int)
    for group in (tiles.diagonal, tiles.others):
        for blocks, columns in group:
            texts = np.arange(len(ids))[tiles.texts(columns)]
            np.testing.assert_array_equal(ids[texts], tiles.ids[columns])
            for rows in blocks:
                seen[rows, texts] += 1
                truths[rows, texts] += group is tiles.diagonal
                # A tile is a block, or the texts of one image.
                size = (rows.stop - rows.start) * len(texts)
                assert size <= block_size**2 or len(texts) <= most
    assert np.all(seen == 1)
    own = np.flatnonzero(ids >= 0)
    assert np.all(truths[ids[own], own] == 1)
