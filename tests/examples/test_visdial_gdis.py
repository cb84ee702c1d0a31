import io
import json

import pytest

from tests.examples.conftest import load

COLUMNS = {"mrr", "r@1", "r@5", "r@10", "mean_rank"}


@pytest.fixture
def example(monkeypatch, tmp_path):
    monkeypatch.setenv("TFCAP_CACHE", str(tmp_path / "cache"))
    made = load("visdial_gdis")
    monkeypatch.setattr(made, "UNITS", 4)
    monkeypatch.setattr(made, "EMBEDDING_UNITS", 4)
    sizes = {"train": 50, "val": 1, "test": 3, "easy": True}
    monkeypatch.setattr(made, "QUICK", sizes)
    return made


@pytest.mark.slow
def test_three_networks_are_trained_ranked_and_talked_with(
    example, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "run"
    options = ["--quick", "--epochs", "1", "--out", str(out)]
    found = example.main(options)
    assert set(found) == set(example.ROWS)
    assert all(set(scores) >= COLUMNS for scores in found.values())
    assert json.loads((out / "results.json").read_text()) == found
    page = (out / "page.html").read_text()
    assert page.count("<img") == 3 and page.count("<tr>") == 33
    assert list(out.glob("tradeoff/*/events*"))
    said = capsys.readouterr().out
    assert [said.index(name) for name in ("G-MLE", "D-NP-ATT", "G-DIS")]
    # Again, nothing is left to train: the same figures, and a dialog.
    monkeypatch.setattr("sys.stdin", io.StringIO("is it red?\nwhat color\n"))
    assert example.main([*options, "--talk", "2"]) == found
    assert "Ask about it:" in capsys.readouterr().out


def test_visdial_needs_its_files(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--data", "visdial"])
    assert "--root" in capsys.readouterr().err
