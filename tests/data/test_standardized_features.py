import pickle

import numpy as np
import pytest

from tfcap.data import FeatureWriter
from tfcap.data import StandardizedFeatures
from tfcap.data import load_features
from tfcap.data import mapped_features
from tfcap.data import standardize_features
from tfcap.data import standardized_features
from tfcap.data.mapped_features import MappedFeatures
from tfcap.data.mapped_features import position_means


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


GRIDS = np.random.default_rng(0).normal(size=(30, 2, 3)).astype("float16")


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Writes a large file, and counts how often its features are read."""
    # As a shell leaves it within quotes.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TFCAP_CACHE", "~/cache")
    monkeypatch.setattr(mapped_features, "LARGE", 1)

    def write(values=GRIDS):
        path = tmp_path / "features.h5"
        path.unlink(missing_ok=True)
        with FeatureWriter(path, range(30), (1, 2), 3) as writer:
            writer.write(np.arange(30), values)
        return load_features(path, lazy=True)

    return write


@pytest.fixture
def counted(monkeypatch):
    calls, count = [], standardized_features._statistics
    monkeypatch.setattr(
        standardized_features,
        "_statistics",
        lambda features: calls.append(features) or count(features),
    )
    return calls


def test_statistics_of_a_large_file_are_found_once(read, counted, capsys):
    (first,) = standardize_features(read())
    assert "features.h5, this time only" in capsys.readouterr().out
    (again,) = standardize_features(read())
    assert len(counted) == 1 and not capsys.readouterr().out
    np.testing.assert_array_equal(again.mean, first.mean)
    np.testing.assert_array_equal(again.deviation, first.deviation)
    (plain,) = standardize_features(GRIDS)
    np.testing.assert_allclose(again.mean, plain.mean, rtol=1e-6)
    np.testing.assert_allclose(again.deviation, plain.deviation, rtol=1e-6)


def spread(values):
    """Mean and deviation by the plain formula, in 80 bits."""
    values = values.reshape(-1, values.shape[-1]).astype("longdouble")
    return values.mean(0), np.sqrt(((values - values.mean(0)) ** 2).mean(0))


def test_large_files_of_half_precision_are_counted_exactly(read, monkeypatch):
    monkeypatch.setattr(standardized_features, "_READ_BYTES", 7 * 2 * 3 * 2)
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**16, GRIDS.shape, "uint16").view("f2")
    anything = np.where(np.isfinite(bits), bits, 0)
    # No exponent in float32 unless it is counted anew; and hardly varying.
    tiny, same = GRIDS * np.float16(2e-6), GRIDS * 0 + np.float16(1000)
    same[3, 1] += np.float16(0.5)
    for values in (GRIDS, np.maximum(GRIDS, 0), anything, tiny, same):
        mean, deviation = standardized_features._statistics(read(values))
        wanted = spread(values)
        bound = np.abs(values).max() * 1e-15
        np.testing.assert_allclose(mean, wanted[0].astype("f8"), 1e-14, bound)
        np.testing.assert_allclose(deviation, wanted[1].astype("f8"), 1e-13)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_numbers_of_large_files_are_finite(bad):
    values = GRIDS.copy().reshape(-1, 3)
    values[4, 1] = bad
    with np.errstate(invalid="ignore"):
        _, about = standardized_features._HalfMoments()(values)
    np.testing.assert_array_equal(np.isfinite(about), [True, False, True])


def test_other_rows_other_files_and_pooled_ones_have_their_own(read, counted):
    standardize_features(read())
    pooled = MappedFeatures(read(), position_means, "means")
    (found,) = standardize_features(pooled)
    wanted = GRIDS.astype("f8").mean(1)
    np.testing.assert_allclose(found.mean, wanted.mean(0), rtol=1e-5)
    np.testing.assert_allclose(found.deviation, wanted.std(0), rtol=1e-5)
    changed = GRIDS.copy()
    changed[4, 1, 2] += 9
    (other,) = standardize_features(read(changed))
    assert len(counted) == 3
    np.testing.assert_allclose(
        other.mean, changed.astype("f8").mean((0, 1)), rtol=1e-5
    )


def test_small_features_leave_nothing_behind(
    read, counted, monkeypatch, tmp_path
):
    monkeypatch.setattr(mapped_features, "LARGE", 30 * 2 * 3 * 2)
    for _ in range(2):
        standardize_features(read())
    assert len(counted) == 2 and not (tmp_path / "cache").exists()


def test_numbers_that_were_damaged_are_found_anew(read, counted, tmp_path):
    (first,) = standardize_features(read())
    (kept,) = (tmp_path / "cache" / "statistics").iterdir()
    kept.write_bytes(kept.read_bytes()[:-70])
    with pytest.warns(UserWarning, match="not as it was written"):
        (again,) = standardize_features(read())
    np.testing.assert_array_equal(again.mean, first.mean)
    assert len(counted) == 2
    standardize_features(read())
    assert len(counted) == 2


def test_a_cache_that_cannot_be_written_costs_time_and_no_run(
    read, counted, tmp_path
):
    (tmp_path / "cache").write_text("no folder")
    with pytest.warns(UserWarning, match="Set TFCAP_CACHE to a folder"):
        (found,) = standardize_features(read())
    assert np.isfinite(found.mean).all()
