import errno
import os
import signal
import subprocess
import sys
import textwrap

import h5py
import numpy as np
import pytest

from tfcap.data import FeatureWriter
from tfcap.data import hdf5_file
from tfcap.data import load_features

IDS = [3, 1, 2]
#: Of each of them.
FEATURES = np.arange(60.0).reshape(3, 4, 5)


def begin(path, ids=IDS, grid=(2, 2), size=5, **attributes):
    return FeatureWriter(path, ids, grid, size, **attributes)


def test_values_are_written_when_they_are_given(tmp_path):
    """Errors of writing at the closing of a dataset are lost in h5py."""
    with hdf5_file.new_file(tmp_path / "x.h5") as file:
        access = file.id.get_access_plist()
        assert access.get_sieve_buf_size() == 0


def test_the_file_is_as_documented(tmp_path):
    path = tmp_path / "features.h5"
    begin(path, backbone="net", layer="top", input_size=(8, 9)).close()
    with h5py.File(path) as file:
        assert file["features"].shape == file["features"].maxshape == (3, 4, 5)
        assert file["features"].chunks is None
        assert file["features"].dtype == np.float16
        assert file["image_ids"][:].tolist() == IDS
        assert not file["done"][:].any()
        assert file.attrs["tfcap_features"] == 2
        assert file.attrs["backbone"] == "net" and file.attrs["layer"] == "top"
        assert file.attrs["input_size"].tolist() == [8, 9]
        assert file.attrs["grid"].tolist() == [2, 2]
    assert os.listdir(tmp_path) == ["features.h5"]


def test_writing_goes_on_with_the_rows_that_are_not_done(tmp_path):
    path = tmp_path / "features.h5"
    with begin(path) as writer:
        writer.write([1], np.ones((1, 4, 5)))
    with begin(path) as writer:
        assert writer.remaining.tolist() == [0, 2]
        writer.write(writer.remaining, np.zeros((2, 4, 5)))
    assert load_features(path).max(axis=(1, 2)).tolist() == [0, 1, 0]


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process")
def test_a_killed_writer_leaves_a_file_to_go_on_with(tmp_path):
    path = tmp_path / "features.h5"
    code = f"""
        import os, signal
        import numpy as np
        from tfcap.data.feature_writer import FeatureWriter
        writer = FeatureWriter({str(path)!r}, range(500), (2, 2), 5)
        for row in range(0, 500, 4):
            if row == 200:
                os.kill(os.getpid(), signal.SIGKILL)
            rows = np.arange(row, row + 4)
            writer.write(rows, np.ones((4, 4, 5)) * rows[:, None, None])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)])
    assert done.returncode == -signal.SIGKILL
    with FeatureWriter(path, range(500), (2, 2), 5) as writer:
        assert writer.remaining[0] == 200
    with h5py.File(path) as file:
        assert (file["features"][:200, 3, 4] == np.arange(200)).all()


@pytest.mark.parametrize(
    "other, name",
    [
        ({"backbone": "other"}, "backbone"),
        ({"layer": "other"}, "layer"),
        ({"input_size": (9, 9)}, "input_size"),
        ({"preprocessing": "tf"}, "preprocessing"),
        ({"grid": (1, 4)}, "grid"),
        ({"size": 6}, "shape"),
        ({"ids": [1, 2, 3]}, "image_ids"),
    ],
)
def test_a_file_begun_otherwise_is_refused_and_kept(tmp_path, other, name):
    path = tmp_path / "features.h5"
    begin(path).close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"`{name}`.*features.h5.*another fi"):
        begin(path, **other)
    assert path.read_bytes() == before


def test_repeated_images_are_refused(tmp_path):
    with pytest.raises(ValueError, match="2 of them distinct"):
        begin(tmp_path / "features.h5", ids=[1, 1, 2])


def test_names_go_on_like_numbers_and_do_not_mix_with_them(tmp_path):
    path = tmp_path / "features.h5"
    with begin(path, ids=["x", "y"]) as writer:
        writer.write([1], np.ones((1, 4, 5)))
    with begin(path, ids=["x", "y"]) as writer:
        assert writer.remaining.tolist() == [0]
    for other in (["y", "x"], [1, 2]):
        with pytest.raises(ValueError, match="`image_ids`.*other ones"):
            begin(path, ids=other)
    with pytest.raises(ValueError, match="1 strings among 2 ids"):
        begin(tmp_path / "mixed.h5", ids=[1, "x"])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e6])
def test_values_that_half_precision_cannot_hold_are_refused(tmp_path, value):
    features = np.ones((2, 4, 5))
    features[1, 2, 3] = value
    with begin(tmp_path / "features.h5") as writer:
        with pytest.raises(ValueError, match="image 2"):
            writer.write([1, 2], features)
        assert writer.remaining.tolist() == [0, 1, 2]


def test_another_shape_is_refused(tmp_path):
    with begin(tmp_path / "features.h5") as writer:
        with pytest.raises(ValueError, match=r"shape \(1, 4, 5\)"):
            writer.write([1], np.ones((1, 4, 6)))


def test_images_that_were_damaged_are_named_and_made_anew(tmp_path, capsys):
    path = tmp_path / "features.h5"
    with begin(path) as writer:
        writer.write([0, 1, 2], FEATURES)
        place = writer._offsets["features"][0]
    data = path.read_bytes()
    # A bit of the second image.
    place += 4 * 5 * 2 + 7
    path.write_bytes(
        data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :]
    )
    assert load_features(path, [3, 2]).shape == (2, 4, 5)
    with pytest.raises(ValueError, match=r"of 1 images are damaged \(1\)"):
        load_features(path)
    with begin(path) as writer:
        assert writer.remaining.tolist() == [1]
        writer.write([1], FEATURES[1:2])
    assert "of 1 images are damaged (1) and are ext" in capsys.readouterr().out
    assert path.read_bytes() == data


def test_wherever_a_file_is_cut_it_is_refused_and_kept(tmp_path):
    path = tmp_path / "features.h5"
    with begin(path) as writer:
        writer.write([0, 1, 2], FEATURES)
    data = path.read_bytes()
    for size in range(0, len(data), 101):
        path.write_bytes(data[:size])
        for read in (load_features, begin):
            with pytest.raises(ValueError, match="features.h5.*not whole"):
                read(path)
        assert path.read_bytes() == data[:size]


def test_a_disk_that_is_too_small_is_found_before_the_first_image(
    tmp_path, monkeypatch
):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match="features.h5.*Nothing was begun. Make"):
        begin(tmp_path / "features.h5")
    assert not os.listdir(tmp_path)


def test_features_that_vanish_in_half_precision_are_refused(tmp_path):
    features = FEATURES.copy()
    features[1:] = 2e-9
    with begin(tmp_path / "features.h5") as writer:
        with pytest.raises(ValueError, match="vanish.*image 1. Look at the w"):
            writer.write([0, 1, 2], features)
        assert writer.remaining.tolist() == [0, 1, 2]
        # A black image may have zeros.
        writer.write([0, 1], FEATURES[:2] * [[[1]], [[0]]])


@pytest.mark.parametrize("value", [0, 0.3])
def test_features_that_are_the_same_of_all_images_are_refused(tmp_path, value):
    path = tmp_path / "features.h5"
    one = np.full((1, 4, 5), value) * np.arange(5)
    with begin(path) as writer:
        writer.write([1], one)
    with begin(path) as writer:
        writer.write([0], one * (1 + 1e-6))
        with pytest.raises(ValueError, match="differ.*all 3 images.*image 2"):
            writer.write([2], one)
    with begin(path) as writer:
        writer.write([2], one + 1)
    assert len(load_features(path)) == 3


def test_many_images_with_the_same_features_are_refused_at_once(tmp_path):
    with begin(tmp_path / "features.h5", ids=range(100)) as writer:
        writer.write(range(15), np.ones((15, 4, 5)))
        with pytest.raises(ValueError, match="differ.*all 16 images"):
            writer.write([15], np.ones((1, 4, 5)))


def test_a_file_of_the_same_features_is_refused_when_it_is_read(
    tmp_path, monkeypatch
):
    path = tmp_path / "features.h5"
    monkeypatch.setattr("tfcap.data.feature_writer.all_same", lambda _: False)
    with begin(path) as writer:
        writer.write([0, 1, 2], np.ones((3, 4, 5)))
    for lazy in (False, True):
        with pytest.raises(ValueError, match=f"{path}.*all 3 images are the"):
            load_features(path, [3], lazy)


def test_a_folder_and_what_lies_in_none_are_refused(tmp_path):
    with pytest.raises(ValueError, match="`path` must name a feature file"):
        begin(tmp_path)
    told = "`path` must be a file in a folder .*none/a.h5.*Make the folder"
    with pytest.raises(PermissionError, match=told):
        begin(tmp_path / "none" / "a.h5")
    assert not os.listdir(tmp_path)


def test_names_that_are_no_text_are_refused_with_the_cure(tmp_path):
    names = ["a.jpg", os.fsdecode(b"caf\xe9.jpg")]
    with pytest.raises(ValueError, match=r"1 that it .*udce9.jpg'. Rename"):
        begin(tmp_path / "features.h5", ids=names)


def test_a_link_to_nothing_yet_stays_a_link(tmp_path):
    path, target = tmp_path / "link.h5", tmp_path / "far.h5"
    path.symlink_to(target)
    begin(path).close()
    assert path.is_symlink() and target.is_file()
    begin(path).close()


def test_a_disk_that_is_found_full_at_the_end_is_told(tmp_path, monkeypatch):
    def fail(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "features.h5"
    with pytest.raises(OSError, match="features.h5.*Make room") as caught:
        with begin(path) as writer:
            writer.write([0], FEATURES[[0]])
            monkeypatch.setattr("os.fsync", fail)
    monkeypatch.undo()
    assert caught.value.errno == errno.ENOSPC
    with begin(path) as again:
        assert again.remaining.tolist() == [1, 2]
