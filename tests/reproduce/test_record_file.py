import json
import os
import warnings

import pytest

from reproduce import record_file
from reproduce.record_file import append_record
from reproduce.record_file import read_records


def test_records_come_back_in_order(tmp_path):
    path = tmp_path / "points.jsonl"
    assert read_records(path) == []
    records = [{"a": 1.5, "b": "caf\u00e9\n"}, {}, {"c": [None, True]}]
    for record in records:
        append_record(path, record)
    assert read_records(path) == records
    lines = [json.loads(x) for x in path.read_text().splitlines()]
    assert [x for x in lines if x.pop("sha256")] == records


def test_a_changed_number_shows_and_lines_without_a_checksum_count(tmp_path):
    path = tmp_path / "points.jsonl"
    for value in (1.25, 2.5):
        append_record(path, {"a": value})
    text = path.read_text().replace("1.25", "1.75")
    path.write_text(f'{text}{{"a": 3}}\n')
    with pytest.warns(UserWarning, match="line 1 is not .* as it was written"):
        assert read_records(path) == [{"a": 2.5}, {"a": 3}]


@pytest.mark.parametrize(
    "rest", ['{"a": 1, "b"', "{", '"text"', "\x00" * 9, "[" * 100_000]
)
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
    assert read_records(path) == [{"a": 1}]


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


def test_a_log_reads_each_line_once(tmp_path, monkeypatch):
    path, parsed = tmp_path / "points.jsonl", []
    parse = record_file._parse
    monkeypatch.setattr(
        record_file, "_parse", lambda line: parsed.append(line) or parse(line)
    )
    log = record_file.RecordLog(path)
    assert log.read() == []
    for i in range(20):
        append_record(path, {"a": i})
        assert log.read()[-1] == {"a": i} and log.read() is log.read()
    assert len(log.read()) == 20
    assert len([line for line in parsed if line]) == 20


def test_a_log_sees_lines_that_are_being_written_when_they_are_whole(tmp_path):
    path = tmp_path / "points.jsonl"
    append_record(path, {"a": 0})
    log = record_file.RecordLog(path)
    with open(path, "ab") as file:
        file.write(b'{"a": 1, "b"')
        file.flush()
        with pytest.warns(UserWarning, match="line 2 is not whole"):
            assert log.read() == [{"a": 0}]
        with warnings.catch_warnings(action="error"):
            assert log.read() == [{"a": 0}]
        file.write(b': 2}\n{"a": 3}')
        file.flush()
        assert log.read() == [{"a": 0}, {"a": 1, "b": 2}, {"a": 3}]
    append_record(path, {"a": 4})
    assert log.read() == read_records(path) and len(log.read()) == 4


def test_a_log_that_was_replaced_or_cut_is_read_anew(tmp_path):
    path, other = tmp_path / "points.jsonl", tmp_path / "other"
    for i in range(3):
        append_record(path, {"a": i})
        append_record(other, {"b": i})
    log = record_file.RecordLog(path)
    assert len(log.read()) == 3
    path.write_text('{"a": 0}\n')
    assert log.read() == [{"a": 0}]
    os.replace(other, path)
    assert log.read() == [{"b": i} for i in range(3)]
    path.unlink()
    assert log.read() == []
