"""Damaged event files: each run is named, and every mean counts its seeds."""

import errno
import os
import struct

import pytest

from tensorboard_plugin_tfcap import event_files
from tensorboard_plugin_tfcap.event_files import EventFiles
from tensorboard_plugin_tfcap.notebook import show_tradeoff
from tensorboard_plugin_tfcap.report import main
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tests.tensorboard_plugin_tfcap import strangers
from tests.tensorboard_plugin_tfcap.serving import serving


def write_run(logs, seed, weight, points=True):
    run = logs / f"seed={seed},lambda={weight}"
    values = [
        {"cider_d": 1 - weight, "r@10": 50.0 + seed + step} for step in range(2)
    ]
    if points:
        with TradeoffWriter(run, "mine", {"lambda": weight}, seed) as writer:
            for step, metrics in enumerate(values):
                writer.point(step, metrics)
    else:
        series = {name: [v[name] for v in values] for name in values[0]}
        strangers.write_scalars(run, series)
    return next(run.glob("events*"))


def write_logs(logs, points=True):
    """Event files of two settings of three seeds."""
    return [
        write_run(logs, seed, weight, points)
        for weight in (0.1, 0.2)
        for seed in range(3)
    ]


def starts(data):
    place = 0
    while place < len(data):
        yield place
        place += struct.unpack_from("<Q", data, place)[0] + 16


def test_every_changed_bit_is_seen_and_no_cut_is_taken_for_damage(tmp_path):
    path = write_run(tmp_path, 0, 0.1)
    data, folder = path.read_bytes(), str(tmp_path)
    first = list(starts(data))
    assert EventFiles().damage(folder) == []
    # Of every third byte: of all parts of a record, many.
    for place in range(0, len(data), 3):
        changed = bytearray(data)
        changed[place] ^= 1 << place // 3 % 8
        path.write_bytes(changed)
        (sentence,) = EventFiles().damage(folder)
        at = max(start for start in first if start <= place)
        assert f"from byte {at} on" in sentence
        assert "'seed=0,lambda=0.1'" in sentence and path.name in sentence
        path.write_bytes(data[:place])
        assert EventFiles().damage(folder) == []
    path.write_bytes(data + bytes(4096))
    assert f"from byte {len(data)} on" in EventFiles().damage(folder)[0]


def test_what_grows_is_checked_once_and_in_time(tmp_path, monkeypatch):
    path = write_run(tmp_path, 0, 0.1)
    data, read = path.read_bytes(), []
    crc = event_files.masked_crc32c

    def counted(data):
        read.append(len(data))
        return crc(data)

    monkeypatch.setattr(event_files, "masked_crc32c", counted)
    files, half = EventFiles(), list(starts(data))[2]
    for size in (half, half + 5, len(data), len(data)):
        path.write_bytes(data[:size])
        assert files.damage(str(tmp_path)) == []
    records = len(list(starts(data)))
    assert sum(read) == len(data) - 8 * records
    slow = EventFiles(seconds=-1.0)
    assert slow.damage(str(tmp_path)) == []
    assert sum(read) == len(data) - 8 * records


def test_a_folder_in_a_circle_and_what_cannot_be_read(tmp_path):
    os.symlink(tmp_path, tmp_path / "again")
    os.symlink(tmp_path / "gone", tmp_path / "events.tfevents.gone")
    os.symlink("events.tfevents.loop", tmp_path / "events.tfevents.loop")
    write_run(tmp_path, 0, 0.1)
    (sentence,) = EventFiles().damage(str(tmp_path))
    assert sentence.startswith("Run '.' is damaged: its event file events.")
    assert "cannot be read: Too many levels of symbolic links" in sentence
    assert EventFiles().damage("") == EventFiles().damage("gs://a/b") == []


#: What may lie beside an event file of a run.
OTHERS = {
    "._{}": b"\0\5\x16\7" * 99,  # AppleDouble
    "{}.profile-empty": bytes(99),
    ".{}.aB3dE9": bytes(99),  # half copied
}


def test_what_is_no_event_file_is_neither_damage_nor_a_run(tmp_path):
    path = write_logs(tmp_path)[-1]
    for name, data in OTHERS.items():
        path.with_name(name.format(path.name)).write_bytes(data)
    path.parent.rename(tmp_path / "tfevents,seed=2,lambda=0.2")
    os.symlink(tmp_path, tmp_path / "again")
    found = show_tradeoff(tmp_path)
    assert found.shown.notices == []
    assert {row["seeds"] for row in found.shown.view["rows"]} == {3}


def test_a_folder_beside_event_files_and_one_that_nobody_may_read(
    tmp_path, monkeypatch
):
    paths = write_logs(tmp_path)
    (paths[4].parent / "events.out.tfevents.0").mkdir()
    listdir = os.listdir

    def refused(folder):
        if folder == str(paths[5].parent):
            raise PermissionError(errno.EACCES, "Permission denied")
        return listdir(folder)

    monkeypatch.setattr(os, "listdir", refused)
    found = show_tradeoff(tmp_path)
    folder, run = found.shown.notices
    assert folder.startswith("Folder 'seed=2,lambda=0.2' cannot be read: Perm")
    assert run.startswith(SAID) and "events.out.tfevents.0 is a folder" in run
    rows = found.shown.view["rows"]
    assert [row["seeds"] for row in rows] == [3, 1]


@pytest.fixture(params=["points", "scalars"])
def damaged(request, tmp_path):
    """A log of two settings of three seeds, one run of which is damaged."""
    logs = tmp_path / "logs"
    path = write_logs(logs, request.param == "points")[4]
    data = path.read_bytes()
    place = list(starts(data))[-1] + 20
    path.write_bytes(data[:place] + b"\xff" + data[place + 1 :])
    return logs


SAID = "Run 'seed=1,lambda=0.2' is damaged"


def test_a_report_and_a_notebook_name_the_damaged_run(
    damaged, tmp_path, capsys
):
    out = tmp_path / "a.html"
    assert main([str(damaged), "-o", str(out)]) == 0
    assert SAID in capsys.readouterr().err
    header = out.read_text().split("</header>")[0]
    assert SAID.replace("'", "&#x27;") in header
    page = show_tradeoff(damaged)._repr_html_()
    assert SAID.replace("'", "&#x27;") in page.split("<script")[0]


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])
def test_the_tab_names_the_damaged_run(damaged, fast):
    with serving(damaged, fast) as server:
        server.wait(6)
        assert SAID in " ".join(server.json("state")["notices"])


def test_a_log_that_is_damaged_from_its_start_says_so(tmp_path, capsys):
    path = write_run(tmp_path, 0, 0.1)
    path.write_bytes(bytes(99) + path.read_bytes())
    assert main([str(tmp_path), "-o", str(tmp_path / "a.html")]) == 2
    said = capsys.readouterr().err
    assert "a folder with 0 points" in said and "is damaged" in said


def test_means_say_over_how_many_seeds_they_are(tmp_path):
    path = write_logs(tmp_path)[4]
    path.write_bytes(b"\xff" + path.read_bytes())
    found = show_tradeoff(tmp_path)
    assert "2 to 3 seeds each." in found.shown.note
    (points,) = [t for t in found.tables if t.name == "points"]
    seeds = points.head.index("seeds")
    assert [row[seeds] for row in points.rows] == ["3", "2/3"]
