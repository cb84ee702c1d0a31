import errno
import os

import pytest

from tfcap.io import durable


def test_folders_are_made_with_those_above_them(tmp_path):
    durable.make_folder(tmp_path / "a" / "b")
    durable.make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "a"):
        with pytest.raises((FileExistsError, NotADirectoryError)):
            durable.make_folder(path)


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EIO])
def test_a_disk_need_not_know_how_to_sync_folders(tmp_path, monkeypatch, code):
    def fsync(file):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("os.fsync", fsync)
    if code == errno.EIO:
        with pytest.raises(OSError, match="Input/output"):
            durable.sync_folder(tmp_path)
    else:
        durable.sync_folder(tmp_path)


def test_a_sync_that_fails_names_what_it_was_to_sync(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")

    def fsync(file):
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr("os.fsync", fsync)
    for sync, path in (
        (durable.sync_file, tmp_path / "file"),
        (durable.sync_folder, tmp_path),
    ):
        with pytest.raises(OSError) as caught:
            sync(path)
        assert caught.value.filename == str(path)
        assert caught.value.errno == errno.EDQUOT
