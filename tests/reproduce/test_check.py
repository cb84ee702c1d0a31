import json
import shlex
import subprocess

import pytest

from reproduce import check
from reproduce.command import PAPERS
from reproduce.command import main
from reproduce.command import open_paper
from reproduce.options import asked_grid
from reproduce.options import sweep_parser
from reproduce.sweep import load_records
from reproduce.visdial.rows import ROWS


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """Answers of the runs, by their paper."""
    answers = {}

    def run(words):
        name, out = words[3], words[-1]
        made = answers[name](out)
        return subprocess.CompletedProcess(words, made or 0)

    monkeypatch.setattr(check.subprocess, "run", run)
    return answers


def recorded(monkeypatch, records):
    monkeypatch.setattr(check, "load_records", lambda folder: records)


@pytest.mark.parametrize("more, status", [(0.4, 0), (0.2, 1)])
def test_a_finding_holds_by_its_sign(runs, monkeypatch, capsys, more, status):
    runs["sle"] = lambda out: None
    scores = {"sll": 0.3, "sll_sle": more}
    recorded(
        monkeypatch, [{"method": k, "rs_div_2": v} for k, v in scores.items()]
    )
    assert main(["check", "sle"]) == status
    said = capsys.readouterr().out
    assert ("holds" in said) == (not status)
    assert f"{more:g} of sll_sle, 0.3 of sll" in said


def test_runs_of_visual_dialog_are_read(tmp_path):
    rows = {"a": {"generative": {"mrr": 0.5}}, "b": {"discriminative": {}}}
    (tmp_path / "results.json").write_text(json.dumps({"rows": rows}))
    assert check.scores(tmp_path, "mrr") == {"a": 0.5}


def test_failures_and_ctrl_c_end_in_their_status(runs, capsys):
    runs["sle"], runs["psst"] = lambda out: 1, lambda out: 130
    assert main(["check", "sle", "psst"]) == 130
    assert "sle: the run failed with status 1" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["check", "speed"])


@pytest.mark.parametrize("name", check.CHECKS)
def test_checks_are_of_rows_and_scores_that_records_have(name):
    about = check.CHECKS[name]
    paper, *words = shlex.split(about.arguments)
    rows = {about.above, about.below}
    if paper not in PAPERS:
        assert rows <= ROWS.keys()
        return
    grid = asked_grid(
        open_paper(paper), sweep_parser(open_paper(paper)).parse_args(words)
    )
    assert rows <= {row for point in grid for row in [point["method"]]}
    folder = {"psst": "tradeoff_world", "truth": "truth_world"}.get(
        name, "distinctive_world" if name == "wtf_rl" else "sequence_world"
    )
    found = {
        record["method"]
        for record in load_records(f"results/{folder}")
        if about.metric in record
    }
    assert rows <= found
