import errno
import io
import json
import os

import numpy as np
import pytest

from tfcap._io import DiskError
from tfcap._io import is_there
from tfcap._io import json_file
from tfcap._io import load_arrays
from tfcap._io import passing_errors
from tfcap._io import read_json
from tfcap._io import rename
from tfcap._io import save_arrays
from tfcap._io import tried_again
from tfcap._io import whole_file
from tfcap._io import write_whole_path
from tfcap._io.passing_errors import raise_passing

CODES = [errno.EIO, errno.ESTALE]


class Clock:
    """A clock that only sleep moves."""

    def __init__(self):
        self.now, self.slept = 0.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.slept.append(seconds)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(passing_errors, "time", clock)
    return clock


@pytest.fixture
def fail(monkeypatch):
    """Lets a function of the system fail some times before, or after, all."""

    def patch(name, times, code=errno.EIO, after=False, owner=os):
        whole, left = getattr(owner, name), [times]

        def call(*arguments, **options):
            if left[0] > 0 and not after:
                left[0] -= 1
                raise OSError(code, os.strerror(code))
            found = whole(*arguments, **options)
            if left[0] > 0:
                left[0] -= 1
                raise OSError(code, os.strerror(code))
            return found

        monkeypatch.setattr(owner, name, call)
        return left

    return patch


def failing(times, code=errno.EIO):
    left = iter([OSError(code, os.strerror(code))] * times)

    def action():
        for error in left:
            raise error
        return "done"

    return action


@pytest.mark.parametrize("code", CODES)
def test_what_passes_is_waited_out_and_told(clock, capsys, code):
    assert tried_again("/far/words.txt", failing(3, code)) == "done"
    assert clock.slept == [0.5, 1.0, 2.0]
    said = capsys.readouterr().err.splitlines()
    assert said[1] == (
        f"tfcap: /far/words.txt: {os.strerror(code)}. Tried again in 1 s, for "
        "120 s more."
    )


@pytest.mark.parametrize("code", CODES)
def test_what_does_not_pass_is_named_with_the_file(clock, monkeypatch, code):
    monkeypatch.setenv("TFCAP_DISK_WAIT", "100")
    with pytest.raises(DiskError, match="^.Errno .*`path` must be on") as found:
        tried_again("/far/words.txt", failing(99, code), "It is as it was.")
    assert found.value.errno == code and clock.now == 100
    assert max(clock.slept) == 30
    assert (
        f"Received: path='/far/words.txt', and {os.strerror(code).lower()} for "
        "100 seconds. It is as it was. Look at" in str(found.value)
    )
    # Who calls waits no second time.
    with pytest.raises(DiskError):
        tried_again("b", lambda: tried_again("a", failing(99, code)))
    assert clock.now == 200


@pytest.mark.parametrize(
    "error",
    [FileNotFoundError(errno.ENOENT, ""), OSError("EIO"), KeyError("errno")],
)
def test_other_errors_are_not_waited_for(clock, error):
    def action():
        raise error

    with pytest.raises(type(error)):
        tried_again("a", action)
    assert not clock.slept
    raise_passing(error)


def test_what_hdf5_tells_of_is_known(clock):
    told = f"read failed: time = 1\n, errno = {errno.EIO}, error message = 'x'"
    for kind in (KeyError, OSError, RuntimeError):
        with pytest.raises(OSError) as found:
            raise_passing(kind(told))
        assert found.value.errno == errno.EIO
    raise_passing(KeyError("read failed: errno = 2, error message"))
    with pytest.raises(PermissionError, match="'a.h5'"):
        raise_passing(OSError("unable to open file: errno = 13, ..."), "a.h5")


def test_an_error_of_another_file_does_not_count(clock):
    try:
        tried_again("one.txt", failing(99))
    except DiskError:
        assert tried_again("two.txt", failing(2)) == "done"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_not_read_twice(clock, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError) as found:
        tried_again(tmp_path / "pipe", failing(1))
    assert not isinstance(found.value, DiskError) and not clock.slept


def test_a_disk_that_does_not_tell_is_not_an_absent_file(clock, tmp_path, fail):
    (tmp_path / "a").write_text("")
    assert not is_there(tmp_path / "none") and not is_there(tmp_path / "a/b")
    # As of a path that cannot be looked at, every second call is `_once()`.
    left = fail("stat", 4, errno.ESTALE)
    assert is_there(tmp_path / "a")
    assert not left[0] and clock.slept == [0.5, 1.0]
    fail("stat", 10**6, errno.ESTALE)
    with pytest.raises(DiskError, match="must be on a disk that answers"):
        is_there(tmp_path / "a")


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "name, times, after",
    [
        ("fsync", 5, False),
        ("fsync", 5, True),
        ("replace", 2, False),
        ("replace", 1, True),
    ],
)
def test_whole_files_are_written_anew(
    clock, tmp_path, fail, name, times, after, code
):
    path = tmp_path / "words.txt"
    path.write_text("before")
    left = fail(name, times, code, after)
    with whole_file(path, "w") as file:
        file.write("after")
    assert path.read_text() == "after" and not left[0] and clock.slept
    assert os.listdir(tmp_path) == ["words.txt"]


def test_what_cannot_be_written_leaves_what_was_there(clock, tmp_path, fail):
    path = tmp_path / "words.npz"
    save_arrays(path, {"a": [1]})
    fail("fsync", 10**6)
    match = "words.npz.*input/output error for 120 seconds. What was there"
    with pytest.raises(DiskError, match=match):
        save_arrays(path, {"a": [2]})
    with pytest.raises(DiskError, match=match):
        write_whole_path(path, lambda partial: partial.write_bytes(b"b"))
    assert os.listdir(tmp_path) == ["words.npz"]
    assert load_arrays(path)["a"] == [1]


def test_a_name_that_was_given_though_an_error_came_is_given(
    clock, tmp_path, fail
):
    (tmp_path / "a").write_text("new")
    (tmp_path / "b").write_text("old")
    fail("replace", 1, errno.ESTALE, after=True)
    rename(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_text() == "new"
    # Of another file it was not.
    fail("replace", 1, errno.ESTALE)
    with pytest.raises(FileNotFoundError):
        rename(tmp_path / "a", tmp_path / "b")


class Forgotten(io.FileIO):
    """A file that can be opened and asked for its size, and not be read."""

    code = errno.EIO

    def readinto(self, buffer):
        raise OSError(self.code, os.strerror(self.code))

    def readall(self):
        raise OSError(self.code, os.strerror(self.code))


@pytest.fixture
def unread(monkeypatch):
    """Lets files fail some times when they are read."""
    whole, left = json_file.open_to_read, [0]

    def open_failing(path):
        if left[0] <= 0:
            return whole(path)
        left[0] -= 1
        return io.BufferedReader(Forgotten(path))

    monkeypatch.setattr(json_file, "open_to_read", open_failing)
    return left


@pytest.mark.parametrize("code", CODES)
def test_files_are_read_again_from_their_beginning(
    clock, tmp_path, monkeypatch, unread, code
):
    monkeypatch.setattr(Forgotten, "code", code)
    words, arrays = tmp_path / "a.json", tmp_path / "a.npz"
    words.write_text(json.dumps({"a": "b" * 9}))
    save_arrays(arrays, {"a": np.arange(9)})
    unread[0] = 2
    assert read_json(words) == {"a": "b" * 9} and not unread[0]
    for sealed in (True, False):
        unread[0] = 2
        found = load_arrays(arrays, sealed=sealed)["a"]
        assert found.tolist() == list(range(9)) and not unread[0]
    assert len(clock.slept) == 6
    unread[0] = 10**6
    for read, path in ((read_json, words), (load_arrays, arrays)):
        with pytest.raises(DiskError, match="that answers.*/a.(json|npz)'"):
            read(path)
