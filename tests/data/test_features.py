import errno
import json
import os
from unittest import mock

import numpy as np
import pytest

from tfcap.data import load_features
from tfcap.data import save_features
from tfcap.data.features import FeatureWriter

IDS = [30, 10, 20, 40]
VALUES = np.arange(4 * 6 * 2).reshape(4, 6, 2)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "vgg.npy"
    save_features(path, IDS, VALUES)
    return path


def test_the_file_is_an_array_with_an_index_behind_it(path):
    values = np.load(path, mmap_mode="r")
    np.testing.assert_array_equal(values, VALUES)
    np.testing.assert_array_equal(np.load(path), VALUES)
    index = json.loads(path.read_bytes()[values.offset + values.nbytes :])
    assert index["image_ids"] == IDS and index["counts"] is None
    assert os.listdir(path.parent) == [path.name]


def test_features_come_in_the_asked_order_with_repetitions(path):
    whole, lazy = load_features(path), load_features(path, lazy=True)
    assert whole.dtype == lazy.dtype == np.float16
    np.testing.assert_array_equal(whole, VALUES)
    none = np.array([], int)
    for index in [np.array([[2, 0], [0, 3]]), slice(1, 3), 2, none]:
        np.testing.assert_array_equal(lazy[index], whole[index])
    whole = load_features(path, [40, 10, 10])
    np.testing.assert_array_equal(whole, VALUES[[3, 1, 1]])
    lazy = load_features(path, [40, 10, 10], lazy=True)
    assert lazy.shape == (3, 6, 2) and lazy.image_ids == [40, 10, 10]
    np.testing.assert_array_equal(lazy[np.arange(3)], whole)


@pytest.mark.parametrize(
    "ids, asked, told",
    [
        ([30, 10], [99, 10, 7], "lacks 2 of 3 .99, 7.*Extract their"),
        (["a.jpg", "b.jpg"], [0, 1], "such as a.jpg, b.jpg.*with `--captions`"),
        (["b", "a"], ["a", "c"], r"lacks 1 of 2 \(c\)"),
    ],
)
def test_an_image_without_features_is_named(tmp_path, ids, asked, told):
    path = tmp_path / "features.npy"
    save_features(path, ids, np.eye(2))
    with pytest.raises(ValueError, match=f"features.npy.*{told}"):
        load_features(path, asked)


def test_wherever_a_file_is_damaged_it_is_refused(path):
    data = path.read_bytes()
    for place in [*range(0, len(data), 23), *range(len(data) - 9, len(data))]:
        for spoiled in (
            data[:place],
            data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :],
        ):
            path.write_bytes(spoiled)
            try:
                found = load_features(path)
            except ValueError as error:
                assert "vgg.npy" in str(error) and "again" in str(error)
            else:
                # A blank in the header of an array is none of its values.
                assert place < 128
                np.testing.assert_array_equal(found, VALUES)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: np.save(path, np.array([{}]), allow_pickle=True),
        lambda path: os.mkfifo(path),
    ],
)
def test_another_file_is_told_with_the_command_that_converts(tmp_path, write):
    path = tmp_path / "other.npy"
    write(path)
    command = f"`python -m tfcap.extract --from {path} -o NEW.npy`"
    with pytest.raises(ValueError, match=f"other.npy.*{command}"):
        load_features(path)
    with pytest.raises(FileNotFoundError):
        load_features(tmp_path / "absent.npy")


# Writing ---------------------------------------------------------------------


def begin(path, image_ids=IDS, shape=(6, 2), **about):
    return FeatureWriter(path, image_ids, shape, **about)


def test_writing_goes_on_with_the_rows_that_are_not_done(tmp_path):
    path = tmp_path / "features.npy"
    with begin(path) as writer:
        writer.write([1], VALUES[[1]])
    assert not path.exists()
    with begin(path) as writer:
        assert writer.remaining.tolist() == [0, 2, 3]
        writer.write([3, 0, 2], VALUES[[3, 0, 2]])
        writer.finish()
    np.testing.assert_array_equal(load_features(path), VALUES)
    assert os.listdir(tmp_path) == ["features.npy"]
    with begin(path) as writer:
        assert not len(writer.remaining)
        writer.finish()


def test_a_killed_writer_loses_nothing(tmp_path):
    path = tmp_path / "features.npy"
    killed = begin(path)
    killed.write([1, 2], VALUES[1:3])
    with begin(path) as writer:
        assert writer.remaining.tolist() == [0, 3]
        writer.write([0, 3], VALUES[[0, 3]])
        writer.finish()
    np.testing.assert_array_equal(load_features(path), VALUES)
    killed.close()


def test_what_a_power_failure_took_is_written_again(tmp_path):
    """Of the rows, of what tells of them, or of both."""
    path, part = tmp_path / "features.npy", tmp_path / "features.npy.part"
    with begin(path) as writer:
        writer.write([0, 1, 2], VALUES[:3])
    data, told = part.read_bytes(), (tmp_path / "features.npy.progress")
    lines = told.read_text()
    for kept, left in ((data[:160], lines), (data, lines[:-3]), (data, "")):
        part.write_bytes(kept)
        told.write_text(left)
        with begin(path) as writer:
            rows = writer.remaining
            assert 3 in rows and len(rows) > 1
            writer.write(rows, VALUES[rows])
            writer.finish()
        np.testing.assert_array_equal(load_features(path), VALUES)
        path.unlink()
    # Killed between the last two steps of all.
    save_features(path, IDS, VALUES)
    told.write_text(lines)
    begin(path).close()
    assert os.listdir(tmp_path) == ["features.npy"]


@pytest.mark.parametrize(
    "name, value",
    [
        ("backbone", "other"),
        ("input_size", (9, 9)),
        ("shape", (6, 3)),
        ("image_ids", [1, 2, 3, 4]),
        ("counts", [1, 2, 3, 4]),
    ],
)
def test_a_file_begun_otherwise_is_refused_and_kept(tmp_path, name, value):
    path = tmp_path / "features.npy"
    told = f"`{name}`.*features.npy.*another file"
    begin(path).close()
    with pytest.raises(ValueError, match=told):
        begin(path, **{name: value})
    save_features(path, IDS, VALUES)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=told):
        begin(path, **{name: value})
    assert path.read_bytes() == before


def test_saving_takes_the_place_of_what_is_there(path):
    begin(path.with_name("other.npy"), backbone="other").close()
    for name in (path, path.with_name("other.npy")):
        save_features(name, IDS[::-1], VALUES + 1)
        np.testing.assert_array_equal(load_features(name), VALUES + 1)
    # A link to nothing yet stays a link.
    link, target = path.with_name("link.npy"), path.with_name("far.npy")
    link.symlink_to(target)
    save_features(link, IDS, VALUES)
    assert link.is_symlink() and target.is_file()


def test_what_makes_no_feature_file_is_refused(tmp_path):
    for ids, told in (([1, 1, 2], "3 ids, 2 of them"), ([], "0 ids")):
        with pytest.raises(ValueError, match=told):
            begin(tmp_path / "features.npy", ids)
    with pytest.raises(ValueError, match="must end in .npy.*features.h5"):
        begin(tmp_path / "features.h5")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    "ids",
    [
        np.array([1, 2]),
        [np.int64(1), 2**70],
        np.array(["a", "b"], object),
        [1, "x"],
        ["a.jpg", os.fsdecode(b"caf\xe9.jpg")],
    ],
)
def test_ids_of_any_kind_come_back(tmp_path, ids):
    path = tmp_path / "features.npy"
    save_features(path, ids, np.eye(2))
    assert load_features(path, lazy=True).image_ids == [*ids]
    np.testing.assert_array_equal(load_features(path, ids)[:, 0], np.eye(2))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e6])
def test_values_that_are_not_finite_or_all_alike_are_refused(tmp_path, value):
    features = VALUES.astype(float)
    features[1, 2, 1] = value
    with begin(tmp_path / "features.npy") as writer:
        with pytest.raises(ValueError, match="image 10"):
            writer.write(range(4), features)
        assert writer.remaining.tolist() == [0, 1, 2, 3]

    with pytest.raises(ValueError, match="differ.*all 4 images.*weights"):
        save_features(tmp_path / "alike.npy", IDS, np.ones((4, 3)))


def test_a_disk_that_is_found_full_at_the_end_keeps_what_is_done(
    tmp_path, monkeypatch
):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    path = tmp_path / "features.npy"
    with pytest.raises(OSError, match="features.npy.*Make room"):
        with begin(path) as writer:
            writer.write(range(4), VALUES)
            monkeypatch.setattr("os.fsync", mock.Mock(side_effect=full))
            writer.finish()
    monkeypatch.undo()
    with begin(path) as again:
        assert not len(again.remaining)
        again.finish()
    np.testing.assert_array_equal(load_features(path), VALUES)
