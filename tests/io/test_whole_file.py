import errno
import os
import stat
import subprocess
import sys
import threading

import keras
import numpy as np
import pytest

from tensorboard_plugin_tfcap import file_writer
from tfcap._io import can_write
from tfcap._io import save_arrays
from tfcap._io import told_if_full
from tfcap._io import whole_file
from tfcap._io import whole_path
from tfcap._io import write_whole
from tfcap.text import Vocabulary
from tfcap.training import Resume
from tfcap.training import save_network


def test_a_file_takes_its_place_when_it_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with whole_file(path, "w") as file:
        file.write("caf\u00e9")
        file.flush()
        assert path.read_text() == "before"
    assert path.read_bytes() == "caf\u00e9".encode()


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
    "checkpoint.npz": lambda path: fit_once(path.parent),
}


def fit_once(folder):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    epochs = 1 + len(list(folder.glob("*.npz")))
    data = np.ones((2, 2, 2))
    Resume(folder).fit(model, *data, epochs=epochs, verbose=0)


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


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root"
)
def test_a_file_keeps_its_owner_and_group(tmp_path):
    path = tmp_path / "a.txt"
    save_text(path)
    os.chown(path, 12, 34)
    path.chmod(0o640)
    save_text(path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (
        12,
        34,
        0o640,
    )


def test_an_error_leaves_what_was_there_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(KeyError):
        with whole_file(path) as file:
            file.write(b"half")
            raise KeyError("a")
    assert os.listdir(tmp_path) == ["a.txt"] and path.read_text() == "before"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_of_a_full_disk_the_file_and_the_cure_are_told(tmp_path, code):
    with pytest.raises(
        OSError, match="a.txt.*is as it was. Make room"
    ) as found:
        with whole_file(tmp_path / "a.txt"):
            raise OSError(code, os.strerror(code))
    assert found.value.errno == code
    with pytest.raises(PermissionError, match="^.Errno 13. no$"):
        with told_if_full(tmp_path):
            raise PermissionError(errno.EACCES, "no")


def test_errors_of_writing_name_the_file(tmp_path):
    def fail(file):
        # As of a write, which names no file.
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    with pytest.raises(OSError, match="Bad file") as caught:
        write_whole(tmp_path / "a.txt", fail)
    assert caught.value.filename == str(tmp_path / "a.txt")


def test_a_disk_that_hdf5_finds_full_is_told(tmp_path):
    text = "Disable slist failed (file write failed: errno = 28, error message"
    with pytest.raises(OSError, match="Make room") as caught:
        with told_if_full(tmp_path):
            raise RuntimeError(text)
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(RuntimeError, match="errno = 9,"):
        with told_if_full(tmp_path):
            raise RuntimeError(text.replace("28", "9"))


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
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_stays_one_and_receives_what_is_whole(tmp_path, linked):
    pipe = path = tmp_path / "pipe"
    os.mkfifo(pipe)
    if linked:
        path = tmp_path / "link"
        path.symlink_to(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    with pytest.raises(KeyError):
        with whole_file(path, "w") as file:
            file.write("half")
            raise KeyError("a")
    with whole_file(path, "w+b") as file:
        file.write(b"caf_ x")
        file.seek(3)
        file.write("\u00e9".encode())
    reader.join(timeout=60)
    assert received == ["caf\u00e9x"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert path.is_symlink() == linked


def test_a_device_stays_one(tmp_path):
    """Copies of devices, lest a fault here replaces the machine's own."""
    null, full = tmp_path / "null", tmp_path / "full"
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod(full, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        full.write_bytes(b"")
    except (AttributeError, PermissionError):
        pytest.skip("only root can make devices")
    assert can_write(null)
    with whole_file(null) as file:
        file.write(b"gone")
    with pytest.raises(OSError, match="full.*It is no file") as caught:
        with whole_file(full) as file:
            file.write(b"too much")
    assert caught.value.errno == errno.ENOSPC
    for path, number in ((null, 3), (full, 7)):
        assert stat.S_ISCHR(path.stat().st_mode)
        assert path.stat().st_rdev == os.makedev(1, number)


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no /dev/stdout")
def test_what_is_printed_before_and_after_is_kept(tmp_path):
    code = """if True:
        from tfcap._io import can_write, whole_file
        print("a table")
        with whole_file("/dev/stdout", "w") as file:
            file.write("{}\\n")
        print("the end", can_write("/dev/stdout"))
    """
    command = [sys.executable, "-c", code]
    wanted = "a table\n{}\nthe end True\n"
    with open(tmp_path / "said", "w") as said:
        subprocess.run(command, stdout=said, check=True)
    assert (tmp_path / "said").read_text() == wanted
    assert subprocess.check_output(command, text=True) == wanted


def test_a_folder_that_is_absent_or_none_is_told(tmp_path):
    (tmp_path / "a").write_text("a")
    for path in (tmp_path / "no" / "b", tmp_path / "a" / "b"):
        assert not can_write(path)
        with pytest.raises(OSError, match=f"{path}'.*Make the folder"):
            with whole_file(path):
                pytest.fail("it was opened")
    assert not can_write(tmp_path)
    with pytest.raises(IsADirectoryError, match="Name a file in it"):
        with whole_file(tmp_path):
            pytest.fail("it was opened")


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "no")

    # Root may write everywhere.
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionError, match="permission denied. Make"):
        with whole_file(tmp_path / "a"):
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


def test_a_path_that_no_file_can_take_is_refused(tmp_path):
    with pytest.raises(OSError, match="`path` must be a file.*a folder"):
        with whole_path(tmp_path):
            pass
    with pytest.raises(OSError, match="in a folder that can be written to"):
        with whole_path(tmp_path / "none" / "a.keras"):
            pass


def test_a_disk_that_does_not_answer_at_once_can_be_written_to(
    tmp_path, monkeypatch
):
    stat, codes = os.stat, [errno.ESTALE]

    def fail(path, *more, **options):
        if str(path) == str(tmp_path) and codes:
            raise OSError(codes.pop(), os.strerror(errno.ESTALE))
        return stat(path, *more, **options)

    monkeypatch.setattr("tfcap._io.passing_errors._FIRST", 0.001)
    monkeypatch.setattr(os, "stat", fail)
    assert can_write(tmp_path / "words.txt") and not codes
