"""Each file operation fails once, as on a network disk, and nothing is lost.

What is done with a folder is done once to count its operations, then as often
as there are operations, of which each time another one fails.
"""

import builtins
import contextlib
import errno
import functools
import os

import keras
import numpy as np
import pytest

from reproduce.record_file import append_record
from reproduce.record_file import read_records
from reproduce.sweep import Sweep
from tfcap._io import load_arrays
from tfcap._io import read_json
from tfcap._io import save_arrays
from tfcap._io import sync_folder
from tfcap._io import sync_tree
from tfcap._io import whole_file
from tfcap.data import FeatureWriter
from tfcap.data import load_features
from tfcap.training.checkpoint import RunCheckpoint

NAMES = (
    *("open", "stat", "lstat", "fstat", "fsync", "replace", "unlink", "mkdir"),
    *("listdir", "scandir", "write", "read", "lseek", "access", "chmod"),
    *("close", "link"),
)


class Disk:
    """Counts the operations in a folder; one of them fails."""

    def __init__(self, monkeypatch, code):
        self.monkeypatch, self.code = monkeypatch, code
        self.folder, self.count, self.failing = None, 0, None

    def patch(self, owner, name):
        whole = getattr(owner, name)

        def call(*arguments, **options):
            if arguments and self.folder and self._inside(arguments[0]):
                self.count += 1
                if self.count == self.failing:
                    raise OSError(self.code, os.strerror(self.code))
            return whole(*arguments, **options)

        self.monkeypatch.setattr(owner, name, call)

    def _inside(self, thing):
        if isinstance(thing, int):
            with contextlib.suppress(OSError):
                thing = os.readlink(f"/proc/self/fd/{thing}")
        return str(thing).startswith(self.folder)

    def do(self, action, folder, failing=None):
        """What an action finds in a folder, and its operations."""
        folder.mkdir()
        self.count, self.failing = 0, failing
        self.folder = str(folder)
        try:
            return action(folder), self.count
        finally:
            self.folder = None


def words(folder):
    for text in ('{"a": 1}', '{"a": 2}'):
        with whole_file(folder / "words.json", "w") as file:
            file.write(text)
    return read_json(folder / "words.json")


def arrays(folder):
    for number in (1, 2):
        save_arrays(folder / "rows.npz", {"a": [number]})
    return load_arrays(folder / "rows.npz")["a"].tolist()


def records(folder):
    for number in (1, 2):
        append_record(folder / "points.jsonl", {"a": number})
    return read_records(folder / "points.jsonl")


def features(folder):
    path = folder / "features.h5"
    for row in (0, 1):
        with FeatureWriter(path, [7, 9], (1, 2), 3) as writer:
            assert writer.remaining[0] == row
            writer.write([row], np.arange(6.0).reshape(1, 2, 3) + row)
    return load_features(path, lazy=True)[np.arange(2)].tolist()


@functools.cache
def network():
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])


def checkpoints(folder):
    model = network()
    for epoch in (1, 2):
        model.set_weights([np.full((2, 1), epoch), np.full(1, epoch)])
        RunCheckpoint(folder / "run").save(model, epoch)
    model.set_weights([np.zeros((2, 1)), np.zeros(1)])
    epoch = RunCheckpoint(folder / "run").restore(model)
    return epoch, model.get_weights()[0].tolist()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EPERM])
def test_a_file_whose_closing_fails_is_named(tmp_path, monkeypatch, code):
    def close(descriptor):
        whole(descriptor)
        raise OSError(code, os.strerror(code))

    whole = os.close
    monkeypatch.setattr(os, "close", close)
    (tmp_path / "a.txt").write_text("a dog")
    for write in (records, sync_folder, sync_tree):
        with pytest.raises(OSError, match=str(tmp_path)) as caught:
            write(tmp_path)
        assert caught.value.errno == code


def sweep(folder):
    def run(settings, place):
        return {"found": settings["seed"]}

    made = Sweep(folder / "sweep", run, {"seed": [3]}, measures=["found"])
    assert made.work() == 0
    return [record["found"] for record in made.records()]


def files(folder):
    return sorted(str(x.relative_to(folder)) for x in folder.rglob("*"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize(
    "action, code",
    [
        (words, errno.EIO),
        (arrays, errno.ESTALE),
        (records, errno.EIO),
        (features, errno.EIO),
        (checkpoints, errno.ESTALE),
        (sweep, errno.ESTALE),
    ],
)
def test_whichever_operation_fails_all_is_there(
    tmp_path, monkeypatch, capsys, action, code
):
    monkeypatch.setattr("tfcap._io.passing_errors._FIRST", 0.0002)
    disk = Disk(monkeypatch, code)
    for name in NAMES:
        disk.patch(os, name)
    disk.patch(builtins, "open")
    wanted, count = disk.do(action, tmp_path / "whole")
    assert count > 5
    for number in range(1, count + 1):
        found, _ = disk.do(action, tmp_path / str(number), number)
        assert found == wanted, f"operation {number} of {count}"
        assert files(tmp_path / str(number)) == files(tmp_path / "whole")
    assert "Tried again in" in capsys.readouterr().err
