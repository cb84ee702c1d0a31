import io
import json

import pytest

from tests.data.conftest import make_content
from tests.eager import run_eagerly
from tests.examples.conftest import load
from tests.visdial_files import features
from tfcap.data import save_features

COLUMNS = {"mrr", "r@1", "r@5", "r@10", "mean_rank"}


@pytest.fixture
def example(monkeypatch, tmp_path):
    monkeypatch.setenv("TFCAP_CACHE", str(tmp_path / "cache"))
    made = load("visdial_gdis")
    monkeypatch.setattr(made, "UNITS", 4)
    monkeypatch.setattr(made, "EMBEDDING_UNITS", 4)
    sizes = {"train": 50, "val": 1, "test": 3, "easy": True}
    monkeypatch.setattr(made, "QUICK", sizes)
    # A graph of a dialog takes longer to trace than its few steps.
    with run_eagerly():
        yield made


@pytest.mark.slow
def test_three_networks_are_trained_ranked_and_talked_with(
    example, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "run"
    options = ["--quick", "--epochs", "1", "--batch-size", "50"]
    options += ["--out", str(out)]
    found = example.main(options)
    assert set(found) == set(example.ROWS)
    assert all(set(scores) >= COLUMNS for scores in found.values())
    assert json.loads((out / "results.json").read_text()) == found
    page = (out / "page.html").read_text()
    assert page.count("<img") == 3 and page.count("<tr>") == 33
    assert list(out.glob("tradeoff/*/events*"))
    said = capsys.readouterr().out
    assert all(f"| {title}" in said for title in example.ROWS.values())
    # Again, nothing is left to train: the same figures, and a dialog.
    monkeypatch.setattr("sys.stdin", io.StringIO("is it red?\nwhat color\n"))
    assert example.main([*options, "--talk", "2"]) == found
    assert "Ask about it:" in capsys.readouterr().out


@pytest.mark.slow
def test_visdial_is_read_from_its_files(example, tmp_path):
    for split, count in ("train", 30), ("val", 4):
        content = make_content(count, split=split)
        for dialog in content["data"]["dialogs"]:
            for turn in dialog["dialog"]:
                turn["answer_options"] *= 2  # more than are drawn
        path = tmp_path / f"visdial_1.0_{split}.json"
        path.write_text(json.dumps(content))
        ids = [dialog["image_id"] for dialog in content["data"]["dialogs"]]
        path = tmp_path / "image_features.npy"
        if split == "train":
            save_features(path, ids, features(ids))
    out = tmp_path / "run"
    options = ["--data", "visdial", "--root", tmp_path, "--out", out]
    options += ["--epochs", "1", "--batch-size", "30"]
    found = example.main([*map(str, options)])
    assert all(set(scores) >= COLUMNS for scores in found.values())
    # Nobody knows which answers are true, and there are no pictures.
    assert "true_answers" not in found["hciae_g_dis"]
    page = (out / "page.html").read_text()
    assert page.count("<article>") == 4 and "<img" not in page


def test_visdial_needs_its_files(example, capsys):
    with pytest.raises(SystemExit):
        example.main(["--data", "visdial"])
    assert "--root" in capsys.readouterr().err
