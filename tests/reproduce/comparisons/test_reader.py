import json

import pytest

from reproduce.comparisons import reader as readers
from tests.data.conftest import make_content


def written(path, train=3):
    content = make_content()
    for dialog in content["data"]["dialogs"][:train]:
        dialog["suggested_split"] = "train"
    path.write_text(json.dumps(content))
    return str(path)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(readers, "EPOCHS", 1)
    monkeypatch.setattr(readers, "UNITS", 4)


def test_a_dialog_model_learns_and_reads(tmp_path, small, capsys):
    out = tmp_path / "out.jsonl"
    arguments = [written(tmp_path / "dialogs.json"), "--out", str(out)]
    assert readers.main([*arguments, "--limit", "2"]) == 0
    first = lines(out)
    assert {entry["dialog"] for entry in first} == {0, 1}
    # What is there is kept, and the rest added.
    assert readers.main(arguments) == 0
    entries = lines(out)
    assert entries[: len(first)] == first
    assert {entry["dialog"] for entry in entries} == {0, 1, 2}
    for entry in entries:
        assert len(entry["rank"]) == 2 and 1 <= min(entry["rank"]) <= 7
    said = capsys.readouterr().out
    assert "gain in mean rank" in said and f"{len(entries):18,}" in said


def test_a_language_model_reads_without_learning(tmp_path):
    test_gguf = pytest.importorskip("tests.models.test_gguf")
    model = tmp_path / "tiny.gguf"
    test_gguf.write(model, "gemma3")
    out = tmp_path / "out.jsonl"
    dialogs = written(tmp_path / "dialogs.json", train=0)
    options = "--gguf", str(model), "--limit", "1", "--out", str(out)
    options += "--options", "3"
    assert readers.main([dialogs, *options]) == 0
    entries = lines(out)
    assert {entry["dialog"] for entry in entries} == {0}
    assert max(max(entry["rank"]) for entry in entries) <= 3


def test_dialogs_without_a_training_split_are_refused(tmp_path, capsys):
    dialogs = written(tmp_path / "dialogs.json", train=0)
    assert readers.main([dialogs, "--out", str(tmp_path / "out")]) == 2
    assert "must have dialogs whose" in capsys.readouterr().err


def test_gains_are_told_for_each_kind(monkeypatch):
    monkeypatch.setattr(readers, "_FEWEST", 3)
    entries = [
        {"dialog": i // 2, "kind": kind, "rank": [own, own + gain]}
        for i, (kind, own, gain) in enumerate(
            [("is", 4, 2), ("does", 2, 2), ("how_many", 9, -4), ("are", 5, 2)]
        )
    ]
    rows = {
        line[:14].strip(): line[14:].split() for line in readers.table(entries)
    }
    assert rows["all"][:4] == ["4", "5.00", "5.50", "0.50"]
    assert rows["yes or no"][:4] == ["3", "3.67", "5.67", "2.00"]
    assert rows["yes or no"][4:6] == ["[2.00,", "2.00]"]
    assert rows["other"][:4] == ["1", "9.00", "5.00", "-4.00"]
    # Within 5: two of three, and one of three.
    assert rows["yes or no"][6] == "66.67"
