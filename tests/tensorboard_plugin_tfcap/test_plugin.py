import csv
import io
import time

import numpy as np
import pytest

from tensorboard_plugin_tfcap.axis_presets import axis_presets
from tensorboard_plugin_tfcap.dataset import all_metrics
from tensorboard_plugin_tfcap.dataset import default_axes
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint
from tests.tensorboard_plugin_tfcap.serving import serving
from tests.tensorboard_plugin_tfcap.views import traces


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "slow"])
def server(request, curves_log):
    with serving(curves_log, request.param) as found:
        found.wait(8, presets=2)
        yield found


def test_the_state_tells_what_can_be_asked(server):
    state = server.json("state")
    assert state["source"] == "points" and len(state["runs"]) == 8
    wanted = {"x": "cider_d", "y": "r@10", "order": "lambda"}
    assert wanted.items() <= state["defaults"].items()
    assert state["methods"] == ["PSST Multinomial", "Luo et al. 2018"]
    better = {m["id"]: m["better"] for m in state["metrics"]}
    assert better["mean_rank"] == "lower" and better["r@10"] == "higher"
    assert [p["id"] for p in state["presets"]] == ["fig3", "table2"]
    assert state["notices"] == []


@pytest.mark.parametrize(
    "names, first",
    [
        (("r@10", "mrr"), "r@10"),
        (("r@10", "fixed_r@1", "fixed_r@10"), "fixed_r@10"),
        (("r@10", "unseen_r@10", "beam_fixed_r@10"), "unseen_r@10"),
        (("r@10", "mine_r@5", "mine_r@10", "human_r@10"), "mine_r@10"),
    ],
)
def test_who_never_met_the_speaker_is_offered_first(names, first):
    found = dict.fromkeys(("lm_log_prob", "cider_d", *names), 1.0)
    points = [TradeoffPoint("run", "mine", metrics=found)]
    metrics = all_metrics(points, {})
    assert default_axes(metrics, points) == ("cider_d", first)
    role = metrics["lm_log_prob"].role
    assert role == "naturalness" and metrics["lm_log_prob"].better == "higher"


@pytest.mark.parametrize(
    "ones, tens, rank",
    [
        ((1.0, 1.0, 2.0, 1.0), (5.0, 20.0, 35.0, 50.0), "r@10"),
        ((30.0, 40.0, 50.0, 60.0), (96.0, 97.0, 99.0, 98.0), "r@1"),
        # The middle half counts, and not one method that has not learned.
        ((1.0, 50.0, 60.0, 70.0, 65.0), (5.0, 97.0, 98.0, 99.0, 98.5), "r@1"),
    ],
)
@pytest.mark.parametrize("listener", ["", "strangers_"])
def test_the_recall_that_tells_methods_apart_is_offered(
    ones, tens, rank, listener
):
    points = []
    for one, ten in zip(ones, tens):
        found = {f"{listener}r@10": ten, f"{listener}r@1": one, "cider_d": 1.0}
        found |= {"r@10": ten, "r@1": one, "human_r@1": ten}
        points.append(TradeoffPoint(f"{one}", "mine", metrics=found))
    metrics = all_metrics(points, {})
    assert default_axes(metrics, points) == ("cider_d", f"{listener}{rank}")
    pairs = [(p.x, p.y) for p in axis_presets(metrics, points).values()]
    assert pairs == ([(f"{listener}{rank}", rank)] if listener else [])


def test_a_log_that_is_the_same_is_said_to_be(server):
    rev = server.json("state")["rev"]
    assert server.json("state", rev=rev) == {"unchanged": True, "rev": rev}
    assert "runs" in server.json("state", rev="another")


def test_marks_are_means_over_seeds_and_name_their_rows(server):
    view = server.json("figure")
    psst = traces(view)[0]
    rows = [view["rows"][number] for number in psst["customdata"]]
    labels = ["\u03bb = 0.001", "\u03bb = 0.005"]
    assert [row["label"] for row in rows] == labels
    # Seeds have 1.28 and 1.30.
    assert psst["x"] == pytest.approx([1.29, 1.09])
    assert rows[0]["x"] == psst["x"][0] and rows[0]["seeds"] == 2
    assert np.mean(rows[0]["x_interval"]) == pytest.approx(1.29, abs=1e-5)
    assert {run["seed"] for run in rows[0]["runs"]} == {"0", "1"}
    assert all(run["step"] == 2 and run["samples"] for run in rows[0]["runs"])


def test_the_best_step_may_be_asked_for(server):
    # Of another metric than the writer's, the log itself is searched.
    for by, step in (("cider_d", 1), ("r@10", 2)):
        row = server.json("figure", at="best", by=by)["rows"][0]
        assert {run["step"] for run in row["runs"]} == {step}


def test_runs_are_chosen_by_an_expression(server):
    view = server.json("figure", runs="luo.*seed=1$")
    assert {row["method"] for row in view["rows"]} == {"Luo et al. 2018"}
    assert all(row["seeds"] == 1 for row in view["rows"])
    view = server.json("figure", runs="nothing")
    assert view["rows"] == [] and "No run matches" in view["notices"][0]


def test_a_line_gives_tables_seed_by_seed(server):
    view = server.json("tables", along="x", value=1.1)
    level, other = view["tables"]
    assert level["title"] == "recall at CIDEr-D = 1.1"
    assert level["head"] == ["", "recall@1", "recall@10", "mean rank", "seeds"]
    psst, luo = level["rows"]
    # Seed 0: from (1.28, 62) to (1.08, 72); seed 1 is 0.02 and 1 further on.
    assert psst[2].startswith("72.0 [") and psst[-1] == "2"
    assert [0, 2] in level["best"] and [1, 3] not in level["best"]
    assert other["head"] == ["", "BLEU-4", "seeds"]


@pytest.mark.parametrize(
    "form, sign",
    [
        *(("markdown", "| **72.0 ["), ("latex", r"\textbf{72.0 [")),
        ("csv", ",72.0"),
    ],
)
def test_tables_come_as_text(server, form, sign):
    reply = server.get("table", format=form, table="level", value=1.1)
    text = reply.get_data(as_text=True)
    assert reply.status_code == 200 and "text/" in reply.content_type
    assert sign in text.replace('"', "").replace("  ", " ")


def points(server, **asked):
    """All points as a table of CSV."""
    text = server.get("table", format="csv", **asked).get_data(as_text=True)
    return list(csv.DictReader(io.StringIO(text)))


def test_all_points_come_as_text(server):
    first, *others = points(server)
    assert len(others) == 7
    assert (first["method"], first["seed"]) == ("PSST Multinomial", "0")
    assert (first["x_metric"], first["x"], first["x_mean"]) == (
        *("cider_d", "1.28", "1.29"),
    )
    assert (first["step"], first["n"], first["level"]) == ("2", "2", "0.95")
    assert float(first["y_low"]) < 62 < float(first["y_high"])


def test_points_of_several_panels_say_which(server):
    lines = points(server, preset="fig3")
    found = {(line["panel"][:3], line["x_metric"]) for line in lines}
    assert found == {("(a)", "bleu_4"), ("(b)", "cider_d")}
    asked = {"table": "points", "format": "markdown", "preset": "fig3"}
    text = server.get("table", **asked).get_data(True)
    assert "(a) BLEU-4 |" in text and "interval of the mean" in text


def test_pages_of_other_sites_are_refused(server):
    def status(route, site):
        headers = {"Sec-Fetch-Site": site}
        path = f"/data/plugin/tfcap_tradeoff/{route}"
        return server.client.get(path, headers=headers).status_code

    assert status("figure", "cross-site") == 403
    assert status("state", "same-site") == 403
    assert status("figure", "same-origin") == 200
    assert status("static/index.js", "cross-site") == 200


def test_the_published_points_are_hollow_marks(server):
    view = server.json("figure", refs=1, pareto=1)
    assert traces(view, "pareto") and traces(view)
    (trace,) = traces(view, "reference")
    assert all(s.endswith("-open") for s in trace["marker"]["symbol"])
    row = view["rows"][trace["customdata"][0]]
    assert row["reference"] and (row["x"], row["y"]) == (1.2, 86.3)


def test_figure_3_is_six_panels(server):
    view = server.json("figure", preset="fig3")
    assert [p["title"][:3] for p in view["panels"]] == [
        f"({letter})" for letter in "abcdef"
    ]
    marks = [t.get("customdata", []) for t in view["figure"]["data"]]
    assert sum(marks, []) == list(range(len(view["rows"])))
    assert {row["panel"] for row in view["rows"]} == {0, 1}
    assert view["figure"]["layout"]["meta"]["height"] > 700


def test_samples_are_text_with_pictures(server):
    run = "psst_multinomial/lambda=0.001,seed=0"
    page = server.json("samples", run=run)
    assert page["steps"] == [2] and page["pages"] == 2
    first = page["items"][0]
    assert first["caption"] == "<b onclick=alert(1)>psst_multinomial</b> 0"
    assert first["human_rank"] is None and first["rank"] == 1.0
    reply = server.get(first["image"])
    assert reply.status_code == 200 and reply.content_type == "image/jpeg"
    assert page["items"][3]["image"] is None
    assert len(server.json("samples", run=run, page=1)["items"]) == 2
    assert server.json("samples", run=run, step=1)["items"] == []
    assert server.error("samples", run=run, page="-1")[0] == 400
    assert server.error("blob", run=run, step=2, number=9)[0] == 404
    assert server.error("blob", run=run, number=0)[0] == 404


def test_wrong_questions_are_answered_in_words(server):
    for asked in ({"x": "nope"}, {"runs": "("}, {"step": "1e999"}):
        code, text = server.error("figure", **asked)
        assert code == 400 and f"`{next(iter(asked))}` must be" in text


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])
def test_a_new_run_and_its_points_appear(tmp_path, fast):
    values = {"cider_d": 1.0, "r@10": 50.0}
    with TradeoffWriter(tmp_path / "early", "early") as writer:
        writer.point(0, values)
    with serving(tmp_path, fast) as server:
        before = server.wait(1)
        assert before["logdir"] == str(tmp_path)
        with TradeoffWriter(tmp_path / "late", "late") as writer:
            writer.point(0, values)
            after = server.wait(2)
            assert _best_of_late(server) == 50.0
            writer.point(1, {**values, "r@10": 60.0})
            # What was read of the others is kept, and this is not.
            for _ in range(600):
                found = _best_of_late(server)
                if found == 60.0:
                    break
                time.sleep(0.1)
            assert found == 60.0
    assert after["rev"] != before["rev"] and "late" in after["methods"]


def _best_of_late(server):
    rows = server.json("figure", at="best", by="r@10")["rows"]
    return {row["method"]: row["y"] for row in rows}["late"]


def test_the_figure_is_written_for_print(server):
    asked = {"width": 6.9, "font_size": 10, "font": "serif"}
    reply = server.get("picture", **asked, zoom="xaxis=1.05,1.15")
    text = reply.data.decode()
    assert reply.mimetype == "image/svg+xml" and 'width="496.8pt"' in text
    assert "Means of seeds" in text and "serif" in text
    hidden = server.get("picture", note=0).text
    assert "description>Means of seeds" in hidden
    assert ">1.10<" in text and ">1.10<" not in server.get("picture").text
    for name, value in (
        *(("format", "gif"), ("width", 99), ("font_size", "x")),
        *(("font", "a;b"), ("zoom", "xaxis=1"), ("preset", "none")),
    ):
        code, said = server.error("picture", **{name: value})
        assert code == 400 and said.startswith(f"`{name}` must"), said
