import os
import stat

import pytest

from tensorboard_plugin_tfcap.file_writer import check_place
from tensorboard_plugin_tfcap.file_writer import write_whole


def test_a_file_is_replaced_and_a_link_stays_one(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_bytes(b"before")
    path.chmod(0o640)
    link.symlink_to(path)
    check_place(link)
    assert path.read_bytes() == b"before"
    write_whole(link, b"after")
    assert link.is_symlink() and path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert {found.name for found in tmp_path.iterdir()} == {"a", "link"}


def test_what_is_no_file_is_written_to(tmp_path):
    check_place("/dev/null")
    write_whole("/dev/null", b"nothing")
    assert not stat.S_ISREG(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("write", [check_place, lambda p: write_whole(p, b"")])
def test_an_error_names_the_file_that_was_asked_for(tmp_path, write):
    for path in (tmp_path, tmp_path / "none" / "a"):
        with pytest.raises(OSError, match="directory") as caught:
            write(path)
        assert caught.value.filename == str(path)
