import errno
import json
import os

import pytest

from reproduce.world.built_folder import built_folder
from reproduce.world.built_folder import checked_sizes
from reproduce.world.built_folder import known_split
from reproduce.world.built_folder import read_about
from reproduce.world.built_folder import read_packed
from reproduce.world.built_folder import write_packed

ABOUT = {"version": 2, "seed": 7, "sizes": {"train": 3, "val": 2, "test": 1}}


class Builder:
    """Writes two files; counts how often it was asked to."""

    def __init__(self):
        self.times = 0

    def __call__(self, folder, about):
        self.times += 1
        (folder / "below").mkdir()
        (folder / "below" / "file").write_text(f"seed {about['seed']}")
        write_packed(folder / "values.json.gz", [0, "é"])


def build(root, write=None, about=ABOUT):
    return built_folder(root, "things", about, write or Builder(), False)


def test_it_is_built_once_under_a_name_that_tells_what_it_is(tmp_path):
    write = Builder()
    folder = build(tmp_path, write)
    assert folder == tmp_path / "things_v2_seed7_3_2_1"
    assert build(tmp_path, write) == folder and write.times == 1
    assert read_packed(folder / "values.json.gz") == [0, "é"]
    listed = read_about(folder)
    for name in ("files", "checksums"):
        assert set(listed.pop(name)) == {"below/file", "values.json.gz"}
    assert listed == ABOUT


def test_what_cannot_be_read_is_kept(tmp_path, monkeypatch):
    def fail(_):
        raise OSError(errno.EMFILE, "Too many open files", str(folder))

    folder = build(tmp_path)
    monkeypatch.setattr("reproduce.world.built_folder.read_about", fail)
    with pytest.raises(OSError, match="Too many open files"):
        build(tmp_path)
    assert (folder / "values.json.gz").exists()


@pytest.mark.parametrize(
    "damage", ["no list", "lost", "short", "other", "other about"]
)
def test_what_is_not_whole_is_built_again(tmp_path, damage):
    folder, write = build(tmp_path), Builder()
    if damage == "no list":
        (folder / "world.json").unlink()
    elif damage == "lost":
        (folder / "below" / "file").unlink()
    elif damage == "short":
        (folder / "values.json.gz").write_bytes(b"")
    elif damage == "other":
        (folder / "below" / "file").write_text("seed 8")
    else:
        text = json.dumps({**read_about(folder), "version": 1})
        (folder / "world.json").write_text(text)
    build(tmp_path, write)
    assert write.times == 1
    assert (folder / "below" / "file").read_text() == "seed 7"
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_an_interrupted_build_leaves_nothing(tmp_path):
    def interrupt(folder, about):
        (folder / "half").write_text("")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(tmp_path, interrupt)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_with_the_folder(tmp_path):
    def write(folder, about):
        # As of a write, which names no file.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="things_v.*Nothing was built") as caught:
        build(tmp_path, write)
    assert caught.value.errno == errno.ENOSPC
    assert not list(tmp_path.iterdir())


def test_the_folder_of_folders_can_be_set(tmp_path, monkeypatch):
    monkeypatch.setenv("TFCAP_CACHE", str(tmp_path))
    assert build(None).parent == tmp_path


def test_packed_files_hold_no_time(tmp_path):
    for name in "ab":
        write_packed(tmp_path / name, {"x": 1})
    first, second = (tmp_path / name for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_sizes_and_splits_are_checked():
    assert checked_sizes({"train": 5}, train=5, val=1) == {"train": 5, "val": 1}
    for sizes in ({"train": 4}, {"val": 0}, {"test": 1.5}):
        with pytest.raises(ValueError, match="must be an integer of at least"):
            checked_sizes({"train": 5}, **sizes)
    assert known_split("val") == "val"
    with pytest.raises(ValueError, match="`split` must be one of"):
        known_split("dev")


def test_a_folder_without_checksums_is_taken_as_it_is(tmp_path):
    folder, write = build(tmp_path), Builder()
    about = read_about(folder)
    del about["checksums"]
    (folder / "world.json").write_text(json.dumps(about))
    (folder / "below" / "file").write_text("seed 8")
    assert build(tmp_path, write) == folder and not write.times
