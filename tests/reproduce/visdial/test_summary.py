import json

import numpy as np
import pytest

from reproduce.command import main as reproduce
from reproduce.visdial import ROWS
from reproduce.visdial.rows import ABLATIONS
from reproduce.visdial.summary import COMPARISONS
from reproduce.visdial.summary import PUBLISHED_FIGURES
from reproduce.visdial.summary import RESULTS
from reproduce.visdial.summary import summarize
from reproduce.visdial.summary import summary_tables
from tfcap.curves import mean_interval

MLE, DIS = [0.5, 0.62, 0.7], [0.55, 0.61, 0.5]


def ranking(mrr, **more):
    rest = {"r@1": 40.123, "r@5": 60.0, "r@10": 70.0, "mean_rank": 9.5}
    return {"count": 9, "mrr": mrr, **rest, **more}


def runs(count=3, **more):
    """Reports of seeds; other images cost G-MLE 0.1, 0.12 and 0.1."""
    made = []
    for mle, dis, other in list(zip(MLE, DIS, (0.4, 0.5, 0.6)))[:count]:
        mle = ranking(mle, **{"mrr_other_images": other, **more})
        answers = {"count": 20, "distinct": 7, "true_share": 0.3}
        dis = {"generative": ranking(dis, **more), "answers": answers}
        rows = {
            "answer_prior": {"generative": ranking(0.3)},
            "hciae_g_mle": {"generative": mle},
            "hciae_g_dis": dis,
        }
        made.append({"rows": rows})
    return made


def line(text, title, row):
    """Cells of a row of a table, by the names of columns."""
    (block,) = [x for x in text.split("\n\n") if x.startswith(title)]
    head, *lines = [
        [cell.strip() for cell in x.strip("|").split("|")]
        for x in text[text.index(block) :].split("\n\n")[1].splitlines()
    ]
    (cells,) = [cells for cells in lines if cells[0] == row]
    return dict(zip(head, cells))


def interval(values, form):
    return "{0:{f}} [{1:{f}}, {2:{f}}]".format(*mean_interval(values), f=form)


def test_means_and_differences_are_over_seeds():
    summary = summarize(runs())
    figure = summary["rows"]["generative"]["hciae_g_dis"]["mrr"]
    assert figure["values"] == DIS
    found = (figure["mean"], figure["low"], figure["high"])
    assert found == mean_interval(DIS)
    answers = summary["rows"]["answers"]["hciae_g_dis"]
    assert list(answers) == ["distinct", "true_share"]
    text = summary_tables(json.loads(json.dumps(summary)))
    found = line(text, "Tables 1 and 4, generative: mean", "hciae_g_dis")
    assert found["mrr"] == interval(DIS, ".4f") and found["seeds"] == "3"
    title = "Tables 1 and 4, generative: paired"
    found = line(text, title, "hciae_g_dis - hciae_g_mle")
    assert found["mrr"] == interval(np.subtract(DIS, MLE), "+.4f")
    assert found["r@1"] == "+0.00 [+0.00, +0.00]"
    found = line(text, "Greedy answers: mean", "hciae_g_dis")
    assert found["true_share"].startswith("0.3000 [")
    assert found["distinct"].startswith("7.00 [")


def test_what_own_images_gain_is_paired_by_seed():
    text = summary_tables(summarize(runs()))
    title = "Tables 1 and 4, generative: own images"
    gains = np.subtract(MLE, [0.4, 0.5, 0.6])
    assert line(text, title, "hciae_g_mle")["mrr"] == interval(gains, "+.4f")
    with pytest.raises(ValueError, match="unpack"):
        line(text, title, "hciae_g_dis")
    # The difference of rows has no control.
    title = "Tables 1 and 4, generative: paired"
    text = summary_tables(summarize(runs(ndcg=0.3, mrr_other_images=0.1)))
    found = line(text, title, "hciae_g_dis - hciae_g_mle")
    assert found["ndcg"] and "mrr_other_images" not in found


def test_one_seed_has_no_interval_and_stands_beside_the_paper():
    summary = summarize(runs(1, ndcg=0.31234))
    # Strict JSON: no infinity.
    json.loads(json.dumps(summary), parse_constant=pytest.fail)
    title = "Tables 1 and 4, generative: mean"
    text = summary_tables(summary)
    assert line(text, title, "hciae_g_dis") == {
        "row": "hciae_g_dis",
        **{"mrr": "0.5500", "r@1": "40.12", "r@5": "60.00", "r@10": "70.00"},
        **{"mean_rank": "9.50", "ndcg": "0.3123", "mrr_other_images": "-"},
        **{"paper mrr": "0.5467", "paper r@1": "44.35", "paper r@5": "65.28"},
        **{"paper r@10": "71.55", "paper mean_rank": "14.23", "seeds": "1"},
    }
    assert line(text, title, "answer_prior")["paper mrr"] == "-"


def test_figures_and_comparisons_are_of_rows_that_exist():
    published = {row for rows in PUBLISHED_FIGURES.values() for row in rows}
    assert published == set(ROWS) - {"hciae_g_mle_control", *ABLATIONS}
    for pairs in COMPARISONS.values():
        for row, against in pairs:
            assert {row, against} <= {"answer_prior", *ROWS}
            assert row != against


def test_tables_of_records_are_printed(tmp_path, capsys):
    assert reproduce(["tables", "visdial"]) == 0
    said = capsys.readouterr().out
    assert said.count("Tables 1 and 4, generative: mean") == len(RESULTS)
    path = tmp_path / "summary.json"
    path.write_text(json.dumps(summarize(runs(2))))
    assert reproduce(["tables", "visdial", str(path)]) == 0
    assert "| hciae_g_dis - hciae_g_mle " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        reproduce(["tables", "visdial", str(path), "--form", "latex"])
