import json
import os

import pytest

from tfcap.training.record_file import append_record
from tfcap.training.record_file import read_records


def test_records_come_back_in_order(tmp_path):
    path = tmp_path / "points.jsonl"
    assert read_records(path) == []
    records = [{"a": 1.5, "b": "caf\u00e9\n"}, {}, {"c": [None, True]}]
    for record in records:
        append_record(path, record)
    assert read_records(path) == records
    assert [json.loads(x) for x in path.read_text().splitlines()] == records


@pytest.mark.parametrize("rest", ['{"a": 1, "b"', "{", '"text"', "\x00" * 9])
def test_a_line_that_is_not_whole_is_named_and_left_out(tmp_path, rest):
    path = tmp_path / "points.jsonl"
    append_record(path, {"a": 1})
    with open(path, "a") as file:
        file.write(rest)
    with pytest.warns(UserWarning, match="points.jsonl, line 2 is not whole"):
        assert read_records(path) == [{"a": 1}]
    # The next record does not become a part of it.
    append_record(path, {"a": 2})
    with pytest.warns(UserWarning, match="line 2 is not whole"):
        assert read_records(path) == [{"a": 1}, {"a": 2}]


def test_a_whole_line_counts_without_its_line_break(tmp_path):
    path = tmp_path / "points.jsonl"
    path.write_text('{"a": 1}')
    assert read_records(path) == [{"a": 1}]
    append_record(path, {"a": 2})
    assert read_records(path) == [{"a": 1}, {"a": 2}]


def test_what_json_cannot_hold_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "points.jsonl"
    append_record(path, {"a": 1})
    for value in (float("nan"), object()):
        with pytest.raises((ValueError, TypeError)):
            append_record(path, {"a": value})
    assert path.read_text() == '{"a": 1}\n'


def test_writers_at_the_same_instant_do_not_overwrite_each_other(
    tmp_path, monkeypatch
):
    path, write = tmp_path / "points.jsonl", os.write

    def late(file, data):
        with open(path, "ab") as other:
            other.write(b'{"b": 2}\n')
        return write(file, data)

    monkeypatch.setattr("os.write", late)
    append_record(path, {"a": 1})
    assert read_records(path) == [{"b": 2}, {"a": 1}]


def test_a_full_disk_is_not_passed_over(tmp_path, monkeypatch):
    path = tmp_path / "points.jsonl"
    monkeypatch.setattr("os.write", lambda file, data: len(data) - 1)
    with pytest.raises(OSError, match="Make room on the disk"):
        append_record(path, {"a": 1})
