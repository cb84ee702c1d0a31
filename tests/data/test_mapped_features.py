import numpy as np
import pytest

from tfcap.data import StandardizedFeatures
from tfcap.data import load_features
from tfcap.data import mapped_features
from tfcap.data import pool_positions
from tfcap.data import save_features
from tfcap.data import scale_features
from tfcap.data.data_digest import feature_digest


@pytest.fixture
def grids():
    rng = np.random.default_rng(0)
    return rng.normal(3, 40, (700, 5, 7)).astype("float16")


@pytest.fixture
def path(tmp_path, grids):
    path = tmp_path / "features.npy"
    save_features(path, range(700), grids)
    return path


def test_files_are_scaled_when_they_are_read(grids, path, monkeypatch):
    reader = load_features(path, lazy=True)
    with monkeypatch.context() as patch:
        patch.setattr(type(reader), "__getitem__", None)
        lazy = scale_features(reader, 8.0)
        others = reader, scale_features(reader, 7.0)
        assert len({feature_digest(x) for x in (lazy, *others)}) == 3
    assert lazy.shape == grids.shape and len(lazy) == 700
    rows = np.array([699, 3, 3])
    values = grids[rows].astype("float32")
    wanted = 8 * values / np.linalg.norm(values, axis=-1, keepdims=True)
    assert lazy[rows].dtype == np.float32
    np.testing.assert_allclose(lazy[rows], wanted, rtol=1e-6)
    # Zeros have no length.
    assert not scale_features(np.zeros((1, 2, 3)), 8.0)[[0]].any()


def test_positions_are_pooled_at_once(grids, path, monkeypatch):
    reader = load_features(path, lazy=True)
    whole, found = map(StandardizedFeatures, (grids, reader))
    np.testing.assert_allclose(found.mean, whole.mean)
    pooled = pool_positions(reader)
    wanted = grids.mean(1, keepdims=True, dtype="float32")
    assert pooled.dtype == np.float32
    np.testing.assert_array_equal(pooled, wanted)
    monkeypatch.setattr(mapped_features, "_CHUNK", 99)
    np.testing.assert_array_equal(pool_positions(grids), wanted)


@pytest.fixture
def train():
    rng = np.random.default_rng(0)
    scale, shift = np.array([1, 50, 0.01, 2]), np.array([0, 900, 5, -3])
    return (rng.normal(size=(23, 3, 4)) * scale + shift).astype("float32")


def test_training_features_have_mean_0_and_deviation_1(train, monkeypatch):
    found = StandardizedFeatures(train)
    assert found.shape == (23, 3, 4) and len(found) == 23
    values = found[np.arange(23)]
    assert values.dtype == np.float32
    plain = (train - train.mean((0, 1))) / train.std((0, 1))
    np.testing.assert_allclose(values, plain, atol=2e-3)
    # They do not depend on how much is read at a time.
    monkeypatch.setattr(mapped_features, "_CHUNK", 5)
    parts = StandardizedFeatures(train)
    np.testing.assert_allclose(parts.mean, found.mean, 1e-6, 1e-6)
    np.testing.assert_allclose(parts.deviation, found.deviation, 1e-6, 1e-6)


def test_other_splits_are_scaled_by_the_numbers_of_the_training_split(train):
    other, rows = train[:5] + 7, np.array([4, 0, 4])
    ready = StandardizedFeatures(train)
    wanted = (other[rows] - ready.mean) / ready.deviation
    for features in (other, lambda rows: other[rows]):
        found = StandardizedFeatures(features, ready.mean, ready.deviation)
        np.testing.assert_array_equal(found[rows], wanted)
    assert found.shape is None


def test_a_feature_that_is_always_the_same_becomes_zero(train):
    train[..., 1] = 0.1
    found = StandardizedFeatures(train)
    values = found[np.arange(23)]
    assert found.deviation[1] == 1 and np.isfinite(values).all()
    np.testing.assert_allclose(values[..., 1], 0, atol=1e-6)


def test_a_mean_of_other_features_is_refused(train):
    with pytest.raises(ValueError, match=r"must have shape \(4,\)"):
        StandardizedFeatures(train, [0.0], [1.0])
