import pickle

import numpy as np
import pytest

from tfcap.data import FeatureWriter
from tfcap.data import load_features
from tfcap.data.data_digest import feature_digest
from tfcap.data.mapped_features import MappedFeatures
from tfcap.data.mapped_features import check_features
from tfcap.data.mapped_features import feature_rows
from tfcap.data.mapped_features import length_scale
from tfcap.data.mapped_features import mapped_features
from tfcap.data.mapped_features import position_means

PREPARED = {"means": position_means, "length": length_scale(8.0)}


@pytest.fixture
def grids():
    rng = np.random.default_rng(0)
    return rng.normal(3, 40, (700, 5, 7)).astype("float16")


@pytest.fixture
def path(tmp_path, grids):
    path = tmp_path / "features.h5"
    with FeatureWriter(path, range(700), (1, 5), 7) as writer:
        writer.write(np.arange(700), grids)
    return path


@pytest.mark.parametrize("name", PREPARED)
def test_batches_are_bit_for_bit_those_of_all_at_once(grids, path, name):
    at_once = PREPARED[name](grids)
    lazy = MappedFeatures(load_features(path, lazy=True), PREPARED[name], name)
    assert lazy.shape == at_once.shape and len(lazy) == 700
    for rows in [np.array([699, 3, 3]), [0], slice(5, 600), 4]:
        np.testing.assert_array_equal(lazy[rows], at_once[rows])
        assert lazy[rows].dtype == np.float32
    np.testing.assert_array_equal(np.asarray(lazy), at_once)
    again = pickle.loads(pickle.dumps(lazy))
    np.testing.assert_array_equal(again[[7]], at_once[[7]])


@pytest.mark.parametrize("name", PREPARED)
def test_large_files_are_left_on_the_disk(grids, path, name, monkeypatch):
    reader = load_features(path, lazy=True)
    at_once = mapped_features(reader, PREPARED[name], name)
    assert isinstance(at_once, np.ndarray)
    np.testing.assert_array_equal(at_once, PREPARED[name](grids))
    monkeypatch.setattr("tfcap.data.mapped_features.LARGE", 700 * 5 * 7 * 2 - 1)
    with monkeypatch.context() as patch:
        patch.setattr(type(reader), "__getitem__", None)
        lazy = mapped_features(reader, PREPARED[name], name)
        few = load_features(path, [5, 9], lazy=True)
        few = mapped_features(few, PREPARED[name], name)
    np.testing.assert_array_equal(few[[1]], at_once[[9]])
    np.testing.assert_array_equal(lazy[[9, 2]], at_once[[9, 2]])
    # What is in memory already is prepared there.
    assert isinstance(mapped_features(grids, position_means, ""), np.ndarray)


def test_features_are_known_by_what_prepares_them_and_not_read(
    path, monkeypatch
):
    reader = load_features(path, lazy=True)
    made = [MappedFeatures(reader, position_means, about) for about in "ab"]
    monkeypatch.setattr(type(reader), "__getitem__", None)
    assert len({feature_digest(x) for x in (reader, *made)}) == 3


def test_zeros_have_no_length_and_lengths_are_positive():
    assert not length_scale(8.0)(np.zeros((1, 2, 3))).any()
    for bad in (0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="`norm` must be a positive"):
            length_scale(bad)


FEATURES = np.arange(24, dtype="float16").reshape(4, 2, 3)
ROWS = np.array([3, 0, 3])


def test_arrays_and_functions_give_the_same_rows():
    wanted = FEATURES[ROWS]
    for features in (FEATURES, lambda rows: FEATURES[rows]):
        found = feature_rows(features, ROWS)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, wanted)


def test_features_have_a_row_for_each_thing():
    check_features(FEATURES, 4, "captions")
    check_features(lambda rows: FEATURES[rows], 9, "captions")
    told = r"`features` must have shape \(5, P, D\).*captions.image_ids"
    with pytest.raises(ValueError, match=told):
        check_features(FEATURES, 5, "captions")
    with pytest.raises(ValueError, match=r"`x` must .* x.shape=\(4, 3\)"):
        check_features(FEATURES[:, 0], 4, "captions", name="x")
