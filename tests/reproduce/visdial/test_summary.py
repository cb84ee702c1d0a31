import json
import pathlib

import numpy as np
import pytest

from reproduce.command import main as reproduce
from reproduce.visdial import ROWS
from reproduce.visdial.summary import COMPARISONS
from reproduce.visdial.summary import load_runs
from reproduce.visdial.summary import main
from reproduce.visdial.summary import summarize
from tfcap.curves import mean_interval


def ranking(mrr):
    rest = {"r@1": 1.0, "r@5": 2.0, "r@10": 3.0, "mean_rank": 4.0, "count": 9}
    return {"mrr": mrr, **rest}


@pytest.fixture
def run(tmp_path):
    def make(seed, mle, dis, **changes):
        folder = tmp_path / f"run{seed}{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        rows = {
            "hciae_g_mle": {"generative": ranking(mle)},
            "hciae_g_dis": {
                "generative": ranking(dis),
                "answers": {"distinct": 7, "count": 20},
            },
        }
        results = {"seed": seed, "settings": {"units": 3}, "data": "d"}
        text = json.dumps({**results, "rows": rows, **changes})
        (folder / "results.json").write_text(text)
        return str(folder)

    return make


def test_means_and_differences_are_over_seeds(run):
    mle, dis = [0.5, 0.6, 0.4], [0.55, 0.61, 0.5]
    runs = [run(seed, a, b) for seed, (a, b) in enumerate(zip(mle, dis))]
    summary = summarize(load_runs(runs))
    figure = summary["rows"]["generative"]["hciae_g_dis"]["mrr"]
    wanted = mean_interval(dis)
    assert figure["values"] == dis
    assert (figure["mean"], figure["low"], figure["high"]) == wanted
    (gap,) = summary["differences"]
    assert (gap["row"], gap["against"]) == ("hciae_g_dis", "hciae_g_mle")
    wanted = mean_interval(np.subtract(dis, mle))
    found = gap["metrics"]["mrr"]
    np.testing.assert_allclose(
        [found["mean"], found["low"], found["high"]],
        wanted,
        rtol=1e-6,
        atol=1e-6,
    )
    answers = summary["rows"]["answers"]["hciae_g_dis"]
    assert list(answers) == ["distinct"]


def test_a_row_that_a_seed_lacks_counts_where_it_is(run):
    rows = {"lf_g": {"generative": ranking(0.3)}}
    runs = load_runs([run(0, 0.5, 0.6), run(1, 0.5, 0.7, rows=rows)])
    summary = summarize(runs)
    rows = summary["rows"]["generative"]
    assert rows["lf_g"]["mrr"]["values"] == [0.3]
    assert rows["lf_g"]["mrr"]["seeds"] == [1]
    assert rows["hciae_g_mle"]["mrr"]["values"] == [0.5]


def test_tables_are_printed_and_figures_written(run, tmp_path, capsys):
    path = tmp_path / "summary.json"
    runs = [run(0, 0.5, 0.6), run(1, 0.5, 0.7)]
    assert main([*runs, "--json", str(path)]) == 0
    said = capsys.readouterr().out
    assert "Seeds: 0, 1" in said
    assert "hciae_g_dis - hciae_g_mle | +0.1500 [" in said
    assert json.loads(path.read_text())["rows"]["generative"]
    for given in ([str(path)], runs):
        assert reproduce(["tables", "visdial", *given]) == 0
        assert capsys.readouterr().out.strip() in said
    with pytest.raises(SystemExit):
        reproduce(["tables", "visdial", str(path), "--form", "latex"])


def test_one_seed_has_no_interval(run, tmp_path, capsys):
    path = tmp_path / "summary.json"
    main([run(0, 0.5, 0.6), "--json", str(path)])
    assert "| 0.6000 |" in capsys.readouterr().out
    # Strict JSON: no infinity.
    json.loads(path.read_text(), parse_constant=pytest.fail)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"settings": {"units": 4}}, "settings differ"),
        ({"data": "e"}, "data differ"),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(run, change, words):
    with pytest.raises(ValueError, match=words):
        load_runs([run(0, 0.5, 0.6), run(1, 0.5, 0.6, **change)])


def test_a_seed_counts_once(run):
    with pytest.raises(ValueError, match="different seeds"):
        load_runs([run(0, 0.5, 0.6), run(0, 0.5, 0.6)])


def test_a_run_without_results_is_named(run, tmp_path):
    with pytest.raises(ValueError, match=f"{tmp_path}/results.json"):
        load_runs([str(tmp_path)])


def test_the_comparisons_are_of_rows_that_exist():
    for _, row, against in COMPARISONS:
        assert {row, against} <= {"answer_prior", *ROWS} and row != against


def test_what_own_images_gain_is_paired_by_seed(run, capsys):
    own, others = [0.5, 0.62, 0.7], [0.45, 0.61, 0.52]
    runs = []
    for seed, (mrr, other) in enumerate(zip(own, others)):
        found = {**ranking(mrr), "ndcg": mrr / 2, "mrr_other_images": other}
        rows = {
            "hciae_g_mle": {"generative": found},
            # A record of before there was a control.
            "lf_g": {"generative": ranking(0.3)},
        }
        runs.append(run(seed, 0, 0, rows=rows))
    summary = summarize(load_runs(runs))
    assert list(summary["images"]) == ["generative"]
    assert list(summary["images"]["generative"]) == ["hciae_g_mle"]
    (figure,) = summary["images"]["generative"]["hciae_g_mle"].values()
    wanted = mean_interval(np.subtract(own, others))
    found = [figure["mean"], figure["low"], figure["high"]]
    np.testing.assert_allclose(found, wanted)
    (gap,) = summary["differences"]
    assert (gap["row"], gap["against"]) == ("hciae_g_mle", "lf_g")
    assert "mrr_other_images" not in gap["metrics"]
    main(runs)
    said = capsys.readouterr().out
    assert "generative: own images less other dialogs' images" in said
    assert f"| hciae_g_mle | {wanted[0]:+.4f} [" in said
    assert "mrr_other_images" in said and "NDCG is absent" not in said


def test_ndcg_that_no_row_has_is_absent_by_name(run, capsys):
    main([run(0, 0.5, 0.6)])
    said = capsys.readouterr().out
    assert "NDCG is absent: the data have no dense annotations" in said
    assert "own images" not in said


@pytest.mark.parametrize("name", ["visdial_world.json", "visdial_real.json"])
def test_summaries_of_earlier_commands_are_printed(name, capsys):
    path = pathlib.Path(__file__).parents[3] / "results" / name
    assert main([str(path)]) == 0
    found = json.loads(path.read_text())["rows"]["generative"]["hciae_g_mle"]
    said = capsys.readouterr().out
    assert f"| {found['mrr']['mean']:.4f} [" in said
    assert "paired difference by seed" in said
