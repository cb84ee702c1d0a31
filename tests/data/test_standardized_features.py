import pickle

import numpy as np
import pytest

from tfcap.data import FeatureWriter
from tfcap.data import StandardizedFeatures
from tfcap.data import load_features
from tfcap.data import standardize_features
from tfcap.data import standardized_features


@pytest.fixture
def train():
    rng = np.random.default_rng(0)
    scale, shift = np.array([1, 50, 0.01, 2]), np.array([0, 900, 5, -3])
    return (rng.normal(size=(23, 3, 4)) * scale + shift).astype("float32")


def test_training_features_have_mean_0_and_deviation_1(train):
    (found,) = standardize_features(train)
    assert found.shape == (23, 3, 4) and len(found) == 23
    values = np.asarray(found)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values.mean((0, 1)), 0, atol=1e-4)
    np.testing.assert_allclose(values.std((0, 1)), 1, rtol=1e-4, atol=1e-6)
    plain = (train - train.mean((0, 1))) / train.std((0, 1))
    np.testing.assert_allclose(values, plain, atol=2e-3)


def test_numbers_do_not_depend_on_how_much_is_read_at_a_time(
    train, monkeypatch
):
    (at_once,) = standardize_features(train)
    monkeypatch.setattr(standardized_features, "_CHUNK", 5)
    (in_parts,) = standardize_features(train)
    np.testing.assert_allclose(
        in_parts.mean, at_once.mean, rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        in_parts.deviation, at_once.deviation, rtol=1e-6, atol=1e-6
    )


def test_other_splits_are_scaled_by_the_numbers_of_the_training_split(train):
    other = train[:5] + 7
    _, array, function = standardize_features(
        train, other, lambda rows: other[rows]
    )
    rows = np.array([4, 0, 4])
    wanted = (other[rows] - array.mean) / array.deviation
    np.testing.assert_array_equal(array[rows], wanted)
    np.testing.assert_array_equal(function[rows], wanted)
    assert function.shape is None
    again = StandardizedFeatures(other, array.mean, array.deviation)
    np.testing.assert_array_equal(again[rows], wanted)


def test_a_feature_that_is_always_the_same_becomes_zero(train):
    train[..., 1] = 0.1
    (found,) = standardize_features(train)
    values = found[np.arange(23)]
    assert found.deviation[1] == 1 and np.isfinite(values).all()
    np.testing.assert_allclose(values[..., 1], 0, atol=1e-6)


def test_files_are_read_as_they_are_needed(train, tmp_path):
    path = tmp_path / "features.h5"
    with FeatureWriter(path, range(23), (1, 3), 4) as writer:
        writer.write(np.arange(23), train)
    lazy, array = load_features(path, lazy=True), load_features(path)
    (found,), (wanted,) = (
        standardize_features(lazy),
        standardize_features(array),
    )
    rows = np.array([7, 2])
    np.testing.assert_array_equal(found[rows], wanted[rows])
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy[rows], wanted[rows])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_told(train, bad):
    train[3, 1, 2] = bad
    with pytest.raises(ValueError, match="in 1 of 4 features"):
        standardize_features(train)


def test_what_cannot_be_counted_is_refused(train):
    for bad in (train[0], train[:0], lambda rows: train[rows]):
        with pytest.raises(ValueError, match="`train` must have shape"):
            standardize_features(bad)
    with pytest.raises(ValueError, match=r"must have shape \(4,\)"):
        StandardizedFeatures(train, [0.0], [1.0])
    with pytest.raises(ValueError, match="with 1 numbers that are not"):
        StandardizedFeatures(train, [0.0] * 4, [1.0, 0.0, 1.0, 2.0])


@pytest.mark.parametrize("noise", [0, 1e-9])
def test_features_of_a_backbone_that_sees_nothing_are_refused(noise):
    """Positions may differ, where the padding of an image shows in them."""
    one = np.arange(1.0, 13).reshape(1, 3, 4)
    if noise:
        one = np.ones_like(one)
    train = np.repeat(one, 5, axis=0)
    train[3] += noise
    with pytest.raises(ValueError, match="differ.*all 5 images.*weights"):
        standardize_features(train)
    standardize_features(train[:1])
    train[4, 0, 0] += 1
    standardize_features(train)
