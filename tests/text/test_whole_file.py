import errno
import os

import pytest

from tfcap.text.whole_file import told_if_full
from tfcap.text.whole_file import whole_file


def test_a_file_takes_its_place_when_it_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with whole_file(path, "w") as file:
        file.write("caf\u00e9")
        file.flush()
        assert path.read_text() == "before"
    assert path.read_bytes() == "caf\u00e9".encode()


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
