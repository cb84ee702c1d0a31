import errno
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from reproduce.world.built_folder import built_folder
from tfcap._io import durable
from tfcap._io import partial_path
from tfcap._io import remove_abandoned
from tfcap._io import whole_file
from tfcap.data import FeatureWriter
from tfcap.data import feature_writer


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


DAYS = 3 * 86_400


@pytest.fixture(autouse=True)
def another_process(monkeypatch):
    """As a new process is, which has looked at nothing yet."""
    monkeypatch.setattr(durable, "_looked_at", set())


def dead_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def left(path, machine=None, pid=None, age=0.0):
    """A partial file of a process, written some seconds ago."""
    name = partial_path(path).name
    found = name.split(".")[-1].split("-")
    mark = "-".join([machine or found[0], str(pid or found[1]), found[2]])
    partial = path.with_name(f".{path.name}.{mark}")
    partial.write_text("half")
    os.utime(partial, (time.time() - age,) * 2)
    return partial


def test_files_of_processes_that_have_ended_are_removed_at_once(tmp_path):
    path = tmp_path / "result.json"
    dead, ours = left(path, pid=dead_process()), left(path, age=DAYS)
    other = left(tmp_path / "result.json.gz", pid=dead_process())
    parent = left(path, pid=os.getppid(), age=DAYS)
    with whole_file(path, "w") as file:
        file.write("whole")
    assert not dead.exists()
    assert ours.exists() and other.exists() and parent.exists()
    assert path.read_text() == "whole"


def test_files_of_other_machines_are_removed_when_nobody_writes(tmp_path):
    path = tmp_path / "result.json"
    new = left(path, "0123abcd", pid=dead_process())
    old = left(path, "0123abcd", pid=os.getpid(), age=DAYS)
    remove_abandoned(path)
    assert new.exists() and not old.exists()


@pytest.mark.parametrize("age", [0.0, DAYS])
def test_names_of_earlier_versions_are_known(tmp_path, age):
    grids, world = tmp_path / "grids.h5", "things_v1_seed0_1_1_1"
    older = [
        tmp_path / f".grids.h5.{'0123abcd' * 4}",
        tmp_path / "grids.h5.4711.part",
        tmp_path / f".{world}_abc_e0f1",
    ]
    theirs = tmp_path / "grids.h5.mine.part"
    for path in (*older[:2], theirs):
        path.write_text("half")
    older[2].mkdir()
    (older[2] / "images.npy").write_text("half")
    for path in (*older, theirs):
        os.utime(path, (time.time() - age,) * 2)
    FeatureWriter(grids, [1], (1, 1), 1).close()
    about = {"version": 1, "seed": 0}
    about["sizes"] = dict.fromkeys(("train", "val", "test"), 1)
    built_folder(tmp_path, "things", about, lambda *_: None, progress=False)
    assert [path.exists() for path in older] == [not age] * 3
    assert theirs.exists() and grids.exists() and (tmp_path / world).exists()


def test_what_a_killed_extraction_left_goes_when_the_next_begins(
    tmp_path, monkeypatch
):
    path = tmp_path / "grids.h5"
    # Of a killed process nothing is cleared away.
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", dead_process)
        patch.setattr(os, "unlink", lambda _: None)
        patch.setattr(feature_writer, "write_checksum", killed)
        with pytest.raises(KeyboardInterrupt):
            FeatureWriter(path, range(5), (2, 2), 5)
    assert len(os.listdir(tmp_path)) == 1
    durable._looked_at.clear()
    with FeatureWriter(path, range(5), (2, 2), 5) as writer:
        writer.write(np.arange(5), np.arange(100.0).reshape(5, 4, 5))
    assert os.listdir(tmp_path) == ["grids.h5"]


def killed(*_):
    raise KeyboardInterrupt


def test_a_name_is_taken_once(tmp_path, monkeypatch):
    def texts():
        return {path.name: path.read_text() for path in tmp_path.iterdir()}

    for text in ("first", "second"):
        (tmp_path / text).write_text(text)
        durable.rename_new(tmp_path / text, tmp_path / "name")
    assert texts() == {"name": "first"}

    def fail(*_):
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    # A disk on which files have one name.
    monkeypatch.setattr(os, "link", fail)
    (tmp_path / "third").write_text("third")
    durable.rename_new(tmp_path / "third", tmp_path / "name")
    assert texts() == {"name": "third"}


def test_a_name_that_was_given_though_an_error_was_told(tmp_path, monkeypatch):
    link, codes = os.link, [errno.EIO]

    def fail(*names):
        link(*names)
        raise OSError(codes.pop(), "Input/output error")

    monkeypatch.setattr("tfcap._io.passing_errors._FIRST", 0.001)
    monkeypatch.setattr(os, "link", fail)
    (tmp_path / "a").write_text("a")
    durable.rename_new(tmp_path / "a", tmp_path / "b")
    assert os.listdir(tmp_path) == ["b"]
