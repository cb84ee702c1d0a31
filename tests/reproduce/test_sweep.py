import errno
import json
import os
import pathlib
import re
import shutil
import threading

import numpy as np
import pytest

from reproduce import sweep as sweep_module
from reproduce.locks import locked
from reproduce.locks import made_once
from reproduce.sweep import Sweep
from reproduce.sweep_records import load_records

GRID = {"method": ["psst", "st"], "lambda": [1e-3, 3e-3], "seed": 0}


class Run:
    """Finds a point's weight, and remembers what it was asked."""

    def __init__(self, **found):
        self.asked = []
        self.found = found
        self.broken = ()

    def __call__(self, settings, folder):
        self.asked.append((settings["method"], settings["lambda"]))
        if settings["method"] in self.broken:
            raise RuntimeError("no more memory")
        return {"cider_d": 1 - settings["lambda"], **self.found}


def sweep(folder, run, grid=GRID, **options):
    return Sweep(folder, run, grid, **{"verbose": 0, **options})


def test_every_point_is_run_once_and_in_order(tmp_path):
    run = Run()
    made = sweep(tmp_path, run)
    assert made.missing() == made.points and made.records() == []
    assert made.work() == 0 and made.work() == 0
    wanted = [(m, x) for m in ("psst", "st") for x in (1e-3, 3e-3)]
    assert run.asked == wanted
    assert made.missing() == []
    assert made.records() == load_records(tmp_path)
    assert made.records()[1] == {
        "method": "psst",
        "lambda": 3e-3,
        "seed": 0,
        "cider_d": 0.997,
    }


def test_a_measure_that_cannot_be_had_takes_nothing_with_it(tmp_path, capsys):
    run = Run()
    made = sweep(tmp_path, run, measures=["spice"], verbose=1)
    assert made.work() == 0 and len(run.asked) == 4
    assert "[1/4] is without spice." in capsys.readouterr().out
    assert len(made.records()) == len(load_records(tmp_path)) == 4
    # It may have come since.
    assert len(sweep(tmp_path, run, measures=["spice"]).missing()) == 4
    assert made.work() == 0 and len(run.asked) == 4


def test_a_point_that_fails_stops_no_other_and_is_tried_again(tmp_path, capsys):
    run = Run()
    run.broken = ("psst",)
    made = sweep(tmp_path, run, verbose=1)
    assert made.work() == 1
    assert len(made.records()) == 2 and len(run.asked) == 4
    failures = made.failures()
    assert [f["settings"]["lambda"] for f in failures] == [1e-3, 3e-3]
    assert failures[0]["error"] == "RuntimeError: no more memory"
    assert 'raise RuntimeError("no more memory")' in failures[0]["traceback"]
    said = capsys.readouterr().out
    assert "2 of 4 points are done.\n2 failed; see points/*/failure" in said
    run.broken = ()
    assert made.work() == 0
    assert len(run.asked) == 6 and len(made.records()) == 4
    assert made.failures() == []


def test_an_interruption_is_no_failure(tmp_path):
    def stop(settings, folder):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(tmp_path, stop).work()
    made = sweep(tmp_path, Run())
    assert made.failures() == [] and made.work() == 0


def test_a_point_has_a_folder_of_its_own_to_go_on_from(tmp_path):
    def run(settings, folder):
        path = os.path.join(folder, "steps")
        with open(path, "a") as file:
            file.write("x")
        if os.path.getsize(path) < 2:
            raise RuntimeError("stopped")
        return {"steps": os.path.getsize(path)}

    made = sweep(tmp_path, run)
    assert made.work() == 1 and made.work() == 0
    assert [r["steps"] for r in made.records()] == [2] * 4
    assert len({made.folder(point) for point in made.points}) == 4


def test_findings_are_kept_as_json_holds_them(tmp_path):
    found = {
        "r@1": np.float32(0.5),
        "count": np.int64(3),
        "median_rank": float("nan"),
        "ranks": np.array([1.0, np.inf]),
        "per": {"spice": (1, 2)},
        "seed": 0,
    }
    made = sweep(tmp_path, Run(**found))
    assert made.work() == 0
    assert made.records()[0] == {
        "method": "psst",
        "lambda": 1e-3,
        "cider_d": 0.999,
        "r@1": 0.5,
        "count": 3,
        "median_rank": None,
        "ranks": [1.0, None],
        "per": {"spice": [1, 2]},
        "seed": 0,
    }


@pytest.mark.parametrize(
    "run, message",
    [
        (lambda settings, folder: None, "TypeError: `run` must return a dict"),
        (lambda settings, folder: {"seed": 3}, "ValueError: .*seed=3 for a"),
        (lambda settings, folder: {"model": object()}, "TypeError: "),
    ],
)
def test_findings_that_cannot_be_kept_are_failures(tmp_path, run, message):
    made = sweep(tmp_path, run, {"seed": 0})
    assert made.work() == 1
    (failure,) = made.failures()
    assert re.match(message, failure["error"])
    assert made.records() == []


def test_a_run_cannot_change_the_point_that_it_is(tmp_path):
    def run(settings, folder):
        settings["lambda"] = 7.0
        return {"r@1": 1.0}

    made = sweep(tmp_path, run)
    made.work()
    assert [r["lambda"] for r in made.records()] == [1e-3, 3e-3] * 2


def test_a_folder_of_other_shared_settings_is_refused(tmp_path):
    shared = {"data": "world", "epochs": 3, "sizes": (1, 2)}
    sweep(tmp_path, Run(), shared=shared).work()
    sweep(tmp_path, Run(), shared=dict(reversed(shared.items())))
    for other in ({**shared, "epochs": 4}, None):
        with pytest.raises(ValueError, match="same shared settings. Received"):
            sweep(tmp_path, Run(), shared=other)


def test_a_sweep_need_not_wait_for_other_processes(tmp_path):
    run = Run()
    made = sweep(tmp_path, run)
    other = sweep(tmp_path, run)

    def first(settings, folder):
        # Meanwhile, another process does the rest and goes.
        if settings["lambda"] == 1e-3 and settings["method"] == "psst":
            assert other.work(wait=False) == 0
        return run(settings, folder)

    made.run = first
    assert made.work() == 0
    assert run.asked[-1] == ("psst", 1e-3) and len(run.asked) == 4


def test_a_folder_without_records_is_refused(tmp_path):
    with pytest.raises(ValueError, match="without a record in points.jsonl"):
        load_records(tmp_path)


@pytest.mark.parametrize(
    "others, match",
    [
        ([{"digest": "aaaa"}, {"digest": "bbbb"}], "digest aaaa, digest bbbb"),
        (
            [
                {"result": {"human_strangers_r@10": recall}}
                for recall in (46.985, 47.105)
            ],
            "one panel of strangers.*46.985, human_strangers_r@10 47.105",
        ),
    ],
)
def test_points_that_do_not_compare_are_refused(tmp_path, others, match):
    lines = [
        {"settings": {"seed": seed}, "result": {"r@1": 1.0}, **other}
        for seed, other in enumerate([*others, {}, others[0]])
    ]
    path = tmp_path / "points.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(ValueError, match=match):
        load_records(tmp_path)
    del lines[1]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(load_records(tmp_path)) == 3


def test_a_folder_is_of_the_data_that_it_was_made_with(tmp_path, capsys):
    run = Run()
    assert sweep(tmp_path, run, digest="one").work() == 0
    assert sweep(tmp_path, run, digest="one").missing() == []
    with pytest.raises(
        ValueError, match="same data.*sweep.json is of data with"
    ):
        sweep(tmp_path, run, digest="two")
    # The records tell it, too: files may be copied from elsewhere.
    (tmp_path / "sweep.json").unlink()
    with pytest.raises(ValueError, match="record.json is of data with other"):
        sweep(tmp_path, run, digest="two")
    assert len(run.asked) == 4


def test_points_that_were_made_without_a_digest_count(tmp_path):
    run = Run()
    assert sweep(tmp_path, run).work() == 0
    more = {**GRID, "seed": [0, 1]}
    again = sweep(tmp_path, run, more, digest="one")
    assert again.work() == 0 and len(run.asked) == 8
    # From now on there is something to compare with.
    with pytest.raises(ValueError, match="of data with other ids, captions"):
        sweep(tmp_path, run, more, digest="two")
    # And who has no digest reads all.
    assert sweep(tmp_path, run, more).missing() == []


def records_of(folder):
    return sorted((folder / "points").glob("*/record.json"))


def test_a_point_is_on_disk_the_moment_it_is_done(tmp_path):
    seen = []

    def run(settings, folder):
        seen.append(len(records_of(tmp_path)))
        return {}

    sweep(tmp_path, run).work()
    assert seen == [0, 1, 2, 3]


def test_what_is_done_is_neither_run_nor_written_again(tmp_path):
    sweep(tmp_path, Run()).work()
    before = {path: path.read_bytes() for path in records_of(tmp_path)}
    run = Run()
    grid = {**GRID, "lambda": [0.001, 0.002], "seed": 0.0}
    made = sweep(tmp_path, run, grid)
    assert [p["lambda"] for p in made.missing()] == [0.002, 0.002]
    made.work()
    assert run.asked == [("psst", 0.002), ("st", 0.002)]
    assert all(path.read_bytes() == text for path, text in before.items())
    # Of this grid, in its order; and everything.
    assert [r["lambda"] for r in made.records()] == [0.001, 0.002] * 2
    assert len(load_records(tmp_path)) == 6


def published(folder):
    """The records of a sweep as one file of lines, without its folders."""
    lines = [
        json.dumps(json.loads(path.read_text())) + "\n"
        for path in records_of(folder)
    ]
    shutil.rmtree(folder / "points")
    (folder / "points.jsonl").write_text("".join(lines))
    return folder / "points.jsonl"


@pytest.mark.parametrize("publish", [False, True])
def test_a_measure_that_is_wanted_later_is_added_to_what_is_there(
    tmp_path, publish
):
    sweep(tmp_path, lambda *_: {"cider_d": 1.0, "seconds": 3.0}).work()
    if publish:
        published(tmp_path)
    made = sweep(
        tmp_path,
        lambda *_: {"cider_d": 2.0, "meteor": 0.3},
        measures=["meteor"],
    )
    assert len(made.missing()) == len(made.incomplete()) == 4
    assert made.work() == 0 and made.missing() == []
    # What was found first stands.
    for record in (*made.records(), *load_records(tmp_path)):
        assert (record["cider_d"], record["meteor"]) == (1.0, 0.3)
        assert record["seconds"] == 3.0
    assert len(load_records(tmp_path)) == 4


def test_published_points_are_done(tmp_path):
    sweep(tmp_path, Run()).work()
    path = published(tmp_path)
    assert len(load_records(tmp_path)) == 4
    path.write_bytes(path.read_bytes()[:-20])
    run = Run()
    with pytest.warns(UserWarning, match="line 4 is not whole"):
        made = sweep(tmp_path, run)
    assert made.work() == 0 and len(run.asked) == 1
    with pytest.warns(UserWarning, match="line 4 is not whole"):
        assert len(load_records(tmp_path)) == len(made.records()) == 4


def test_a_damaged_record_is_named(tmp_path):
    made = sweep(tmp_path, Run())
    made.work()
    path = records_of(tmp_path)[0]
    path.write_text(path.read_text().replace("0.9", "9.9"))
    for read in (load_records, lambda folder: sweep(folder, Run()).missing()):
        with pytest.raises(ValueError, match="the point is done again"):
            read(tmp_path)


def test_records_of_other_shared_settings_are_refused(tmp_path):
    # As where two sweeps were started in one folder at the same instant.
    made = sweep(tmp_path / "a", Run(), shared={"epochs": 3})
    sweep(tmp_path / "b", Run(), shared={"epochs": 4}).work()
    os.rename(tmp_path / "b/points", tmp_path / "a/points")
    with pytest.raises(ValueError, match="record.json is of others than"):
        made.work()


def test_a_point_that_ends_between_look_and_lock_is_not_run_again(
    tmp_path, monkeypatch
):
    run = Run()
    made, other = sweep(tmp_path, run), sweep(tmp_path, run)

    def late(path, wait):
        monkeypatch.undo()
        other.work()
        return locked(path, wait)

    monkeypatch.setattr(sweep_module, "locked", late)
    assert made.work() == 0 and len(run.asked) == 4


def test_a_file_is_made_once_by_threads_that_ask_for_it(tmp_path):
    path, made = tmp_path / "folder" / "words", []

    def make():
        made.append(1)
        path.write_text("a dog")
        return "a dog"

    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(
                made_once(path, pathlib.Path.read_text, make)
            )
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["a dog"] * 4 and made == [1]


def test_a_lock_is_given_back_and_one_that_a_disk_lacks_is_held(
    tmp_path, monkeypatch
):
    path = tmp_path / "lock"
    with locked(path) as first, locked(path, wait=False) as second:
        assert first and not second
    with locked(path, wait=False) as again:
        assert again

    def lacking(file, how):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr("fcntl.flock", lacking)
    with locked(path) as first, locked(path, wait=False) as second:
        assert first and second
