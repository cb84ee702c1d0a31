import contextlib
import errno
import os
import stat
import subprocess
import sys
import threading
import time

import keras
import pytest

from tensorboard_plugin_tfcap import file_writer
from tfcap._io import can_write
from tfcap._io import make_folder
from tfcap._io import partial_path
from tfcap._io import remove_abandoned
from tfcap._io import save_arrays
from tfcap._io import sync_folder
from tfcap._io import told_if_full
from tfcap._io import whole_file
from tfcap._io import whole_path
from tfcap.text import Vocabulary
from tfcap.training import save_network


def test_a_file_takes_its_place_when_it_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with whole_file(path, "w") as file:
        file.write("caf\u00e9")
        file.flush()
        assert path.read_text() == "before"
    assert path.read_bytes() == "caf\u00e9".encode()
    with pytest.raises(KeyError):
        with whole_file(path) as file:
            file.write(b"half")
            raise KeyError("a")
    assert path.read_bytes() == "caf\u00e9".encode()
    assert os.listdir(tmp_path) == ["a.txt"]


def save_text(path):
    with whole_file(path, "w") as file:
        file.write("a dog")


#: What writes a file, each by the name of a file that it may write.
WRITERS = {
    "a.txt": save_text,
    "a.npz": lambda path: save_arrays(path, {"rows": [1, 2]}),
    "a.keras": lambda path: save_network(
        keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]), path
    ),
    "vocabulary.json": lambda path: Vocabulary(["a"]).save(path),
    "page.html": lambda path: file_writer.write_whole(path, b"a dog"),
}


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_never_open_to_more_than_the_one_before(
    name, tmp_path, monkeypatch
):
    path, seen, write = tmp_path / name, [], WRITERS[name]

    def look(*_):
        seen.extend(p.stat().st_mode & 0o777 for p in tmp_path.iterdir())

    def watch(place):
        real = getattr(os, place)

        def watched(*arguments, **options):
            result = real(*arguments, **options)
            look()
            return result

        monkeypatch.setattr(os, place, watched)

    mask = os.umask(0o027)
    try:
        write(path)
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(0o600)
        for place in ("open", "fsync", "close", "chmod", "replace"):
            watch(place)
        write(path)
    finally:
        os.umask(mask)
    assert {*seen} == {0o600}
    assert path.stat().st_mode & 0o777 == 0o600


#: As HDF5 tells of errors.
HDF5 = "Disable slist failed (file write failed: errno = {}, error message"


@pytest.mark.parametrize(
    "error",
    [
        *(OSError(x, "no") for x in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)),
        RuntimeError(HDF5.format(28)),
    ],
)
def test_of_a_full_disk_the_file_and_the_cure_are_told(tmp_path, error):
    with pytest.raises(OSError, match="a.txt.*is unchanged. Make room") as got:
        with whole_file(tmp_path / "a.txt"):
            raise error
    assert got.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    "error", [PermissionError(errno.EACCES, "no"), RuntimeError(HDF5.format(9))]
)
def test_other_errors_are_what_they_were(tmp_path, error):
    with pytest.raises(type(error)) as caught:
        with told_if_full(tmp_path):
            raise error
    assert caught.value is error


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_one_and_leads_to_the_new_file(tmp_path, there):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "a.txt", tmp_path / "link"
    if there:
        target.write_text("before")
        target.chmod(0o640)
    (tmp_path / "middle").symlink_to("far/a.txt")
    link.symlink_to("middle")
    assert can_write(link)
    with pytest.raises(KeyError):
        with whole_file(link, "w") as file:
            file.write("half")
            raise KeyError("a")
    assert target.exists() == there
    with whole_file(link, "w") as file:
        file.write("after")
    assert link.is_symlink() and (tmp_path / "middle").is_symlink()
    assert target.read_text() == "after"
    assert os.listdir(tmp_path / "far") == ["a.txt"]
    assert not there or stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_stays_one(tmp_path):
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    assert can_write(pipe)
    with whole_file(pipe, "w") as file:
        file.write("caf\u00e9")
    reader.join(timeout=60)
    assert received == ["caf\u00e9"] and stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no /dev/stdout")
def test_what_is_printed_before_and_after_is_kept(tmp_path):
    code = """if True:
        from tfcap._io import can_write, whole_file
        print("a table", flush=True)
        with whole_file("/dev/stdout", "w") as file:
            file.write("{}\\n")
        print("the end", can_write("/dev/stdout"))
    """
    command = [sys.executable, "-c", code]
    wanted = "a table\n{}\nthe end True\n"
    with open(tmp_path / "said", "a") as said:
        subprocess.run(command, stdout=said, check=True)
    assert (tmp_path / "said").read_text() == wanted
    assert subprocess.check_output(command, text=True) == wanted


def test_a_folder_that_is_absent_or_none_is_told(tmp_path):
    (tmp_path / "a").write_text("a")
    for path in (tmp_path / "no" / "b", tmp_path / "a" / "b", tmp_path):
        assert not can_write(path)
        for opened in (whole_file, whole_path):
            with pytest.raises(OSError, match=f"{path}'.*Make the folder"):
                with opened(path):
                    pytest.fail("it was opened")


def test_a_library_that_goes_by_paths_writes_whole_files_too(tmp_path):
    path, link = tmp_path / "a.keras", tmp_path / "link.keras"
    path.write_text("before")
    link.symlink_to(path)
    with pytest.raises(KeyError):
        with whole_path(path) as partial:
            partial.write_text("half")
            raise KeyError("a")
    assert path.read_text() == "before"
    with whole_path(link) as partial:
        assert partial.suffix == ".keras" and partial.parent == tmp_path
        partial.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after" and link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["a.keras", "link.keras"]


def test_folders_are_made_with_those_above_them(tmp_path):
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "a"):
        with pytest.raises((FileExistsError, NotADirectoryError)):
            make_folder(path)


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EIO])
def test_a_disk_need_not_know_how_to_sync_folders(tmp_path, monkeypatch, code):
    def fsync(file):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("os.fsync", fsync)
    expected = contextlib.nullcontext()
    if code == errno.EIO:
        expected = pytest.raises(OSError, match="Input/output")
    with expected:
        sync_folder(tmp_path)


def test_partial_files_are_removed_when_nobody_writes_to_them(tmp_path):
    path, days = tmp_path / "result[1].json", time.time() - 3 * 86_400
    new, old, folder = (partial_path(path) for _ in range(3))
    other = partial_path(tmp_path / "result[1].json.gz")
    folder.mkdir()
    (folder / "half").write_text("half")
    for partial in (new, old, other):
        partial.write_text("half")
    for partial in (old, folder, other):
        os.utime(partial, (days, days))
    remove_abandoned(path)
    assert {*tmp_path.iterdir()} == {new, other}
