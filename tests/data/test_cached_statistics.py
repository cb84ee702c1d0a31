import numpy as np
import pytest

from tfcap.data import FeatureWriter
from tfcap.data import load_features
from tfcap.data import mapped_features
from tfcap.data import standardize_features
from tfcap.data import standardized_features
from tfcap.data.mapped_features import MappedFeatures
from tfcap.data.mapped_features import position_means

GRIDS = np.random.default_rng(0).normal(size=(30, 2, 3)).astype("float16")


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Writes a large file, and counts how often its features are read."""
    monkeypatch.setenv("TFCAP_CACHE", str(tmp_path / "cache"))
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
