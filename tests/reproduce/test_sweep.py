import errno
import json
import os
import pathlib
import shutil
import threading

import numpy as np
import pytest

from reproduce import sweep as sweep_module
from reproduce.locks import locked
from reproduce.locks import made_once
from reproduce.sweep import Sweep
from reproduce.sweep import expand_grid
from reproduce.sweep import load_records
from reproduce.sweep import settings_key
from reproduce.sweep import settings_name

GRID = {"method": ["psst", "st"], "lambda": [1e-3, 3e-3], "seed": 0}
POINTS = [(m, x) for m in ("psst", "st") for x in (1e-3, 3e-3)]


class Run:
    """Finds a point's weight, and remembers what it was asked."""

    def __init__(self, **found):
        self.asked = []
        self.found = found
        self.broken = ()

    def __call__(self, settings, folder):
        self.asked.append((settings["method"], settings.pop("lambda")))
        if settings["method"] in self.broken:
            raise RuntimeError("no more memory")
        return {"cider_d": 1 - self.asked[-1][1], **self.found}


def sweep(folder, run, grid=GRID, **options):
    return Sweep(folder, run, grid, **{"verbose": 0, **options})


def records_of(folder):
    return sorted((folder / "points").glob("*/record.json"))


def test_every_point_is_run_once_in_order_and_is_on_disk_when_done(tmp_path):
    run, seen = Run(), []

    def watched(settings, folder):
        seen.append(len(records_of(tmp_path)))
        return run(settings, folder)

    made = sweep(tmp_path, watched)
    assert made.missing() == made.points and made.records() == []
    assert made.work() == 0 and made.work() == 0
    assert run.asked == POINTS and seen == [0, 1, 2, 3]
    assert made.missing() == [] and made.records() == load_records(tmp_path)
    about = {"method": "psst", "lambda": 3e-3, "seed": 0}
    assert made.records()[1] == {**about, "cider_d": 0.997}
    # A grid that has grown; what is done is neither run nor written again.
    before = {path: path.read_bytes() for path in records_of(tmp_path)}
    again = sweep(tmp_path, run, {**GRID, "lambda": [1e-3, 2e-3], "seed": 0.0})
    again.work()
    assert run.asked[4:] == [("psst", 2e-3), ("st", 2e-3)]
    assert all(path.read_bytes() == text for path, text in before.items())
    assert [r["lambda"] for r in again.records()] == [1e-3, 2e-3] * 2
    assert len(load_records(tmp_path)) == 6


def test_a_measure_that_cannot_be_had_takes_nothing_with_it(tmp_path, capsys):
    run = Run()
    made = sweep(tmp_path, run, measures=["spice"], verbose=1)
    assert made.work() == 0 and len(run.asked) == 4
    assert "[1/4] is without spice." in capsys.readouterr().out
    assert len(made.records()) == len(load_records(tmp_path)) == 4
    # It may have come since.
    assert len(sweep(tmp_path, run, measures=["spice"]).missing()) == 4
    assert made.work() == 0 and len(run.asked) == 4


def test_a_measure_that_is_wanted_later_is_added_to_what_is_there(tmp_path):
    sweep(tmp_path, lambda *_: {"cider_d": 1.0, "seconds": 3.0}).work()
    found = {"cider_d": 2.0, "meteor": 0.3}
    made = sweep(tmp_path, lambda *_: found, measures=["meteor"])
    assert len(made.missing()) == len(made.incomplete()) == 4
    assert made.work() == 0 and made.missing() == []
    # What was found first stands.
    for record in (*made.records(), *load_records(tmp_path)):
        assert (record["cider_d"], record["meteor"]) == (1.0, 0.3)
        assert record["seconds"] == 3.0


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


def test_findings_are_kept_as_json_holds_them(tmp_path):
    found = {
        "r@1": np.float32(0.5),
        "median_rank": float("nan"),
        "ranks": np.array([1.0, np.inf]),
        "per": {"spice": (1, 2)},
    }
    made = sweep(tmp_path, lambda *_: found, {"seed": 0})
    assert made.work() == 0
    kept = {"median_rank": None, "ranks": [1.0, None], "per": {"spice": [1, 2]}}
    assert made.records() == [{"seed": 0, "r@1": 0.5, **kept}]
    made = sweep(tmp_path, lambda *_: {"model": object()}, {"seed": 1})
    assert made.work() == 1 and made.failures()[0]["error"].startswith("TypeE")


def test_a_folder_of_other_shared_settings_or_data_is_refused(tmp_path):
    shared = {"digest": "one", "epochs": 3, "sizes": (1, 2)}
    sweep(tmp_path, Run(), shared=shared).work()
    sweep(tmp_path, Run(), shared=dict(reversed(shared.items())))
    for other in ({**shared, "epochs": 4}, {**shared, "digest": "two"}, None):
        with pytest.raises(ValueError, match="sweep.json is of others"):
            sweep(tmp_path, Run(), shared=other)
    # The records tell it, too: files may be copied from elsewhere.
    (tmp_path / "sweep.json").unlink()
    with pytest.raises(ValueError, match="record.json is of others"):
        sweep(tmp_path, Run())


def test_published_records_are_lines_of_a_file(tmp_path):
    with pytest.raises(ValueError, match="without a record in points.jsonl"):
        load_records(tmp_path)
    sweep(tmp_path, Run()).work()
    wanted = load_records(tmp_path)
    lines = [
        json.dumps(json.loads(path.read_text())) + "\n"
        for path in sorted(records_of(tmp_path), key=os.path.getmtime)
    ]
    shutil.rmtree(tmp_path / "points")
    path = tmp_path / "points.jsonl"
    path.write_text("".join(lines))
    assert load_records(tmp_path) == wanted
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.warns(UserWarning, match="line 4 is not whole"):
        assert load_records(tmp_path) == wanted[:3]


@pytest.mark.parametrize(
    "others, match",
    [
        ([{"shared": "aaaa"}, {"shared": "bbbb"}], "settings aaaa, .* bbbb"),
        (
            [
                {"result": {"human_strangers_r@10": recall}}
                for recall in (46.985, 47.105)
            ],
            "one panel of held-out.*46.985, human_strangers_r@10 47.105",
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


def test_a_damaged_record_is_named(tmp_path):
    sweep(tmp_path, Run()).work()
    path = records_of(tmp_path)[0]
    path.write_text(path.read_text().replace("0.9", "9.9"))
    for read in (load_records, lambda folder: sweep(folder, Run())):
        with pytest.raises(ValueError, match="the point is done again"):
            read(tmp_path)


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


def test_grids_are_joined_and_a_point_is_there_once():
    grid = [
        {"method": "psst", "rho": [0.25, 0.75], "seed": [0, 1]},
        {"method": "luo2018", "seed": [0, 1]},
        {"seed": 1, "rho": 0.75, "method": "psst"},
    ]
    points = expand_grid(grid)
    assert [tuple(point.values()) for point in points] == [
        *[("psst", rho, seed) for rho in (0.25, 0.75) for seed in (0, 1)],
        *[("luo2018", 0), ("luo2018", 1)],
    ]
    for value in (float("nan"), float("inf"), [[1]], object()):
        with pytest.raises(ValueError, match="must be strings, finite"):
            expand_grid({"lambda": [1.0, value]})


def test_one_point_has_one_key_and_one_name():
    first = {"seed": 0, "lambda": 1.0, "annealed": True, "rho": None}
    again = {"rho": None, "annealed": True, "lambda": 1, "seed": -0.0}
    assert settings_key(first) == settings_key(again)
    assert settings_name(first)[-8:] == settings_name(again)[-8:]
    for other in ({"a": 0}, {"a": True}, {"a": "1"}, {"a": 1, "b": None}):
        assert settings_key(other) != settings_key({"a": 1})
        assert settings_name(other) != settings_name({"a": 1})
    name = settings_name({"path": "../a b/\u00e9", "text": "x" * 300})
    assert name.startswith("path=.._a_b__,text=xxx") and len(name) < 120


def test_a_file_is_made_once_by_threads_that_ask_for_it(tmp_path):
    path, made, found = tmp_path / "folder" / "words", [], []

    def make():
        made.append(1)
        path.write_text("a dog")
        return "a dog"

    def ask():
        found.append(made_once(path, pathlib.Path.read_text, make))

    threads = [threading.Thread(target=ask) for _ in range(4)]
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
