import gzip

import pytest

from tfcap._io import read_lines
from tfcap._io.text_file import warn_if_cut


def test_every_line_has_its_place(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("\ufeffone\r\n\n caf\u00e9 \u2028 end\n".encode())
    wanted = ["one", "", " caf\u00e9 \u2028 end", ""]
    assert read_lines(path) == wanted
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_lines(str(packed)) == wanted


def test_what_is_no_text_is_told_with_the_line(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"one\ntwo\n\xe9\n")
    with pytest.raises(ValueError, match=r"lines.txt', where in line 3 the te"):
        read_lines(path)


def test_zeros_of_a_disk_that_failed_are_told_with_the_line(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"one\ntwo\0\0\n")
    with pytest.raises(ValueError, match=r"lines.txt', where in line 2 there"):
        read_lines(path)


def test_a_last_line_without_its_end_is_told(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"one\ntwo")
    with pytest.warns(UserWarning, match="lines.txt ends within line 2"):
        warn_if_cut(path, read_lines(path))


def test_a_missing_file_is_told_as_such(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_lines(tmp_path / "none.txt")
