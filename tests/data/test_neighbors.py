import os

import numpy as np
import pytest

from tfcap.data import load_neighbors
from tfcap.data import nearest_neighbors
from tfcap.data import save_neighbors

RNG = np.random.default_rng(0)
EMBEDDINGS = RNG.normal(size=(57, 6)).astype("float32")
ROWS = nearest_neighbors(EMBEDDINGS, 3)


def by_sorting(embeddings, k):
    scores = embeddings @ embeddings.T
    np.fill_diagonal(scores, -np.inf)
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("k", [1, 5, 56])
@pytest.mark.parametrize("block, tile", [(1024, 16384), (10, 13), (57, 4)])
def test_neighbours_are_those_of_a_sort(k, block, tile):
    found = nearest_neighbors(EMBEDDINGS, k, block, tile)
    assert found.shape == (57, k) and found.dtype == "int32"
    np.testing.assert_array_equal(found, by_sorting(EMBEDDINGS, k))


@pytest.mark.parametrize("block, tile", [(1024, 16384), (7, 5)])
def test_of_equally_near_ones_the_first_come_first(block, tile):
    whole = RNG.integers(0, 2, size=(40, 3))
    found = nearest_neighbors(whole, 4, block, tile)
    np.testing.assert_array_equal(found, by_sorting(whole.astype("f4"), 4))


def test_an_image_is_never_its_own_neighbour_but_its_copy_is():
    found = nearest_neighbors(np.ones((5, 2)), 4)
    for row, others in enumerate(found):
        assert sorted(others) == [x for x in range(5) if x != row]


@pytest.mark.parametrize("ids", [range(100, 157), [f"a{i}" for i in range(57)]])
def test_a_file_brings_them_back_to_the_same_images(tmp_path, ids):
    path = tmp_path / "neighbors.npz"
    save_neighbors(path, ids, ROWS)
    np.testing.assert_array_equal(load_neighbors(path, list(ids)), ROWS)
    assert os.listdir(tmp_path) == ["neighbors.npz"]


def test_another_splits_file_is_refused(tmp_path):
    path = tmp_path / "neighbors.npz"
    save_neighbors(path, range(57), ROWS)
    for other in (range(56), range(1, 58), range(57)[::-1]):
        with pytest.raises(ValueError, match="another split's"):
            load_neighbors(path, other)


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "other.npz"
    path.write_bytes(b"PK no archive")
    with pytest.raises(ValueError, match="`path` must name a file of"):
        load_neighbors(path, range(57))
    np.savez(path, rows=ROWS)
    with pytest.raises(ValueError, match="`path` must name a file of"):
        load_neighbors(path, range(57))
    # Objects would have to be unpickled, which runs what is in the file.
    np.savez(path, rows=ROWS, image_ids=np.array([object()] * 57))
    with pytest.raises(ValueError, match="`path` must name a file of"):
        load_neighbors(path, range(57))


def test_what_makes_no_sense_is_refused(tmp_path):
    for k in (0, 57):
        with pytest.raises(ValueError, match=f"`k` must be.*k={k}"):
            nearest_neighbors(EMBEDDINGS, k)
    with pytest.raises(ValueError, match=r"\(57,\)"):
        nearest_neighbors(EMBEDDINGS[:, 0], 1)
    broken = EMBEDDINGS.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="in 1 rows"):
        nearest_neighbors(broken, 1)
    path = tmp_path / "neighbors.npz"
    with pytest.raises(ValueError, match="`rows` must have shape"):
        save_neighbors(path, range(56), ROWS)
    with pytest.raises(ValueError, match="`rows` must have shape"):
        save_neighbors(path, range(57), ROWS + 56)
    with pytest.raises(TypeError, match="`image_ids`"):
        save_neighbors(path, [1.5] * 57, ROWS)
    assert not path.exists()
