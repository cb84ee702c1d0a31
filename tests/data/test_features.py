import io
import pickle

import h5py
import numpy as np
import pytest

from tfcap.data import FeatureWriter
from tfcap.data import features
from tfcap.data import hdf5_file
from tfcap.data import load_features

IDS = [30, 10, 20, 40]
VALUES = np.arange(4 * 6 * 2).reshape(4, 6, 2)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "vgg.h5"
    with FeatureWriter(path, IDS, (2, 3), 2) as writer:
        writer.write(np.arange(4), VALUES)
    return path


@pytest.mark.parametrize("lazy", [False, True])
def test_features_come_in_the_asked_order_with_repetitions(path, lazy):
    asked = load_features(path, [40, 10, 10], lazy=lazy)
    assert asked.shape == (3, 6, 2) and asked.dtype == np.float16
    np.testing.assert_array_equal(asked[np.arange(3)], VALUES[[3, 1, 1]])


def test_without_ids_the_whole_file_is_read_in_its_order(path):
    np.testing.assert_array_equal(load_features(path), VALUES)


def test_lazy_features_index_like_the_array(path):
    whole, lazy = load_features(path), load_features(path, lazy=True)
    for index in [np.array([2, 0, 0]), slice(1, 3), 2, np.array([], int)]:
        np.testing.assert_array_equal(lazy[index], whole[index])
    again = pickle.loads(pickle.dumps(lazy))
    np.testing.assert_array_equal(again[np.arange(4)], whole)


def test_an_image_without_features_is_named_with_the_file_and_cure(path):
    with pytest.raises(ValueError, match="vgg.h5.*lacks 2 of 3.*99, 7.*Extr"):
        load_features(path, [99, 10, 7])


@pytest.mark.parametrize(
    "ids, asked, told",
    [
        (["a.jpg", "b.jpg"], [0, 1], "by text, as a.jpg: extract with `--capt"),
        ([7, 9], ["p0", "p1"], "by numbers, as 7: extract with `--captions`"),
        ([7, 9], [7, 8], "Extract features of these images, too"),
    ],
)
def test_ids_of_another_kind_are_told(tmp_path, ids, asked, told):
    path = tmp_path / "features.h5"
    with FeatureWriter(path, ids, (1, 1), 2) as writer:
        writer.write([0, 1], np.eye(2)[:, None])
    with pytest.raises(ValueError, match=told):
        load_features(path, asked)


def test_a_folder_is_not_called_damaged(tmp_path):
    with pytest.raises(ValueError, match="Is a directory.*may be sound: `py"):
        load_features(tmp_path)


def test_images_may_be_named(tmp_path):
    path = tmp_path / "named.h5"
    with FeatureWriter(path, ["b", "é", "a"], (2, 3), 2) as writer:
        writer.write(np.arange(3), VALUES[:3])
    asked = load_features(path, np.array(["a", "é", "a"], object), lazy=True)
    np.testing.assert_array_equal(asked[np.arange(3)], VALUES[[2, 1, 2]])
    again = pickle.loads(pickle.dumps(asked))
    np.testing.assert_array_equal(again[[1]], VALUES[[1]])
    for wrong in (["a", "c"], [1, "a"]):
        with pytest.raises(ValueError, match=r"lacks 1 of 2 images \([c1]\)"):
            load_features(path, wrong)


def test_a_half_written_file_is_refused(tmp_path):
    path = tmp_path / "half.h5"
    with FeatureWriter(path, IDS, (2, 3), 2) as writer:
        writer.write([1], VALUES[:1])
    with pytest.raises(ValueError, match="half.h5.*1 of 4.*goes on"):
        load_features(path, [10])


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_a_truncated_file_is_refused(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match="vgg.h5.*not whole.*extract"):
        load_features(path)


def test_another_hdf5_file_is_refused(tmp_path):
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["features"] = VALUES
    with pytest.raises(
        ValueError, match="other.h5.*of another program.*--from .*other.h5"
    ):
        load_features(path)


def test_a_file_that_is_not_there_is_not_called_damaged(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_features(tmp_path / "absent.h5")


def test_short_gaps_are_read_and_long_ones_are_not(monkeypatch):
    def reads(rows, size=100):
        return list(hdf5_file._reads(np.array(rows), size))

    assert reads([]) == [] and reads([7]) == [(0, 1)]
    assert reads([1, 2, 3, 9]) == [(0, 3), (3, 4)]
    assert reads([1, 2, 3, 5, 6, 12]) == [(0, 6)]
    # What is read in vain takes no longer than a seek, nor much memory.
    assert reads([1, 2, 3, 5], size=10**6) == [(0, 3), (3, 4)]
    monkeypatch.setattr(hdf5_file, "_READ_BYTES", 800)
    assert reads([1, 2, 3, 5, 6, 12]) == [(0, 5), (5, 6)]


def test_rows_with_gaps_are_those_of_the_array(tmp_path):
    path, rng = tmp_path / "f.h5", np.random.default_rng(0)
    values = rng.normal(size=(200, 2, 3)).astype("float16")
    with FeatureWriter(path, range(200), (1, 2), 3) as writer:
        writer.write(np.arange(200), values)
    lazy = load_features(path, lazy=True)
    for share in (0.1, 0.5, 0.9):
        rows = np.flatnonzero(rng.random(200) < share)
        np.testing.assert_array_equal(lazy[rows], values[rows])


def test_features_are_in_memory_once_in_whatever_order(path, monkeypatch):
    """Two of COCO's regions and features take 36 GB."""
    monkeypatch.setattr(features, "_PART_BYTES", 6 * 2 * 2)
    read, read_rows = [], features.read_rows

    def counted(file, rows):
        read.append(rows.tolist())
        return read_rows(file, rows)

    monkeypatch.setattr(features, "read_rows", counted)
    asked = load_features(path, [40, 10, 10, 30])
    np.testing.assert_array_equal(asked, VALUES[[3, 1, 1, 0]])
    assert read == [[0], [1], [3]]
    lazy = load_features(path, lazy=True)
    index = np.array([[3, 0], [2, 3]])
    np.testing.assert_array_equal(lazy[index], VALUES[index])
    assert lazy[np.zeros((0, 2), int)].shape == (0, 2, 6, 2)


class Counted(io.FileIO):
    """A file that remembers where it was read, and how much."""

    def __init__(self, path):
        super().__init__(path)
        self.reads = []

    def readinto(self, buffer):
        self.reads.append((self.tell(), len(buffer)))
        return super().readinto(buffer)


def test_a_read_is_one_of_the_file_and_none_goes_back(tmp_path):
    """A spinning disk is modelled by the reads that HDF5 makes."""
    path, rng = tmp_path / "f.h5", np.random.default_rng(0)
    shape = 300, 4, 512
    with FeatureWriter(path, range(300), (2, 2), 512) as writer:
        writer.write(np.arange(300), rng.normal(size=shape))
    near = np.arange(300) // 20 % 3 == 0
    rows, size = np.flatnonzero(near & (rng.random(300) < 0.6)), 4 * 512 * 2
    with Counted(path) as counted, h5py.File(counted, "r") as file:
        begin = file["features"].id.get_offset()
        counted.reads.clear()
        features.read_rows(file, rows)
        wanted = [
            (begin + rows[start] * size, (rows[stop - 1] - rows[start] + 1))
            for start, stop in hdf5_file._reads(rows, size)
        ]
    found = [(at, bytes // size) for at, bytes in counted.reads]
    assert found == wanted and 3 < len(wanted) < len(rows) / 3
