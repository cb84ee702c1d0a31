"""All methods on the same axes: one budget, one reward, paired tables."""

import dataclasses
import json
import re
import time
import types

import numpy as np
import pytest

from reproduce.command import main
from reproduce.comparisons.all import figure
from reproduce.comparisons.all import paper as axes
from reproduce.comparisons.all import settings as numbers
from reproduce.comparisons.all.cost import CPUSeconds
from reproduce.comparisons.all.cost import cost_scores
from reproduce.comparisons.all.orders import ORDERS
from reproduce.comparisons.all.orders import is_collapsed
from reproduce.comparisons.all.orders import orders_of
from reproduce.comparisons.all.orders import verdict
from reproduce.comparisons.all.rows import DEFAULT
from reproduce.comparisons.all.rows import FAMILIES
from reproduce.comparisons.all.rows import FAMILY
from reproduce.comparisons.all.rows import TITLES
from reproduce.comparisons.all.runs import runs_of
from reproduce.comparisons.all.runs import title_of
from reproduce.comparisons.all.tab import write_axes
from reproduce.comparisons.all.tables import all_tables
from reproduce.experiment import Experiment
from reproduce.options import sweep_parser
from reproduce.sle.paper import SLE
from reproduce.wtf_rl.paper import WTF_RL
from tensorboard_plugin_tfcap import report
from tests.eager import run_eagerly
from tests.reproduce.psst.tiny_study import data

TINY = dataclasses.replace(
    numbers.QUICK,
    units=6,
    listener_units=5,
    listener_embedding_units=4,
    batch_size=6,
    joint_batch_size=5,
    max_length=3,
    listener_epochs=1,
    speaker_epochs=1,
    critic_units=(4,),
)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("axes")
    return Experiment(axes.ALL, data(), TINY, folder, 3, verbose=0)


def test_every_row_is_known_once_and_has_a_name():
    assert len(DEFAULT) == sum(map(len, FAMILIES.values())) == len(FAMILY)
    assert set(DEFAULT) <= set(axes.ALL.known())
    assert all(title_of(row) != row for row in DEFAULT)
    assert set(TITLES) <= set(DEFAULT)
    assert {row for _, *pair, _ in ORDERS for row in pair} <= set(DEFAULT)
    # Every name is one row of one paper.
    papers = {id(paper): paper for paper in axes.ORIGINS.values()}.values()
    names = [row for paper in papers for row in paper.rows]
    assert len(names) == len(set(names)) == len(axes.ORIGINS)
    assert not set(axes.ROWS) & set(axes.ORIGINS)


@pytest.mark.parametrize("paper", [SLE, WTF_RL], ids=lambda p: p.name)
def test_a_row_of_a_paper_has_the_budget_of_all(experiment, paper, monkeypatch):
    monkeypatch.setattr(axes, "frozen_listener", lambda experiment: "listener")
    view = axes.as_paper(experiment, paper)
    settings, own = view.settings, paper.settings["quick"]
    assert settings.reward_epochs == TINY.joint_epochs
    assert settings.reward_rate == TINY.joint_rate
    assert view.batches(batch_size=settings.reward_batch_size).batch_size == 5
    assert (settings.units, settings.max_length) == (6, 3)
    # What is the paper's stays, and so does the experiment.
    assert settings.alpha == own.alpha
    assert settings.clipnorm == own.clipnorm
    assert experiment.paper is axes.ALL and experiment.settings is TINY
    # Networks are pretrained by the experiment, at its batch size.
    assert view.networks.__self__ is experiment
    assert view.given.get("retriever") == (
        "listener" if paper is WTF_RL else None
    )


def test_points_are_trained_heard_and_counted(experiment):
    with run_eagerly():
        record = experiment.result("dr_grpo", lambda_=0.01)
        view = axes.as_paper(experiment, axes.PSST)
        reward = axes.traded_off(view, 0.25)
        plain = axes.traded_off(view, 0.0)
    # No listener of its own: the one that all share.
    assert record["r@10"] == record["fixed_r@10"]
    assert record["cpu_seconds"] > record["cpu_ms_a_step"] / 1000 > 0
    assert 0 < record["rs_div_1"] <= 1
    weights = [weight for weight, _ in reward.weighted]
    assert weights == [0.75, 0.25 * view.batches().batch_size]
    assert view.batches().batch_size == 5
    assert plain.name == "cider_d"


def test_rows_of_psst_have_the_budget_of_all(experiment):
    settings = axes.as_paper(experiment, axes.PSST).settings
    assert settings.batch_size == settings.ensemble_batch_size == 5
    assert settings.ensemble_epochs == TINY.joint_epochs
    assert settings.ensemble_human_epochs == TINY.joint_epochs
    assert settings.ensemble_rate == TINY.joint_rate


@pytest.mark.parametrize("row", ["relax", "ipo"])
def test_who_learns_has_a_rate_and_who_stays_is_frozen(experiment, row):
    view = axes.as_paper(experiment, axes.PSST)
    with run_eagerly():
        training = axes.own_training(view, row, {"lambda": 0.0})
    model, speaker = training.model, training.networks["speaker"]
    assert model.speaker is speaker and speaker.trainable
    if row == "relax":
        assert set(model.learners) == {"speaker", "baseline"}
        assert set(model.learners) == set(training.rates)
        return
    term = model.learners["speaker"].objective.terms[0].estimator
    reference = term.reference
    assert reference is not speaker and not reference.trainable
    for ours, theirs in zip(speaker.get_weights(), reference.get_weights()):
        np.testing.assert_array_equal(ours, theirs)


def test_the_tab_is_told_titles_and_figures_once(tmp_path):
    folder = tmp_path / "comparison"
    for _ in range(2):
        write_axes(str(folder), "world")
    (file,) = folder.iterdir()
    assert b"All methods: recall by strangers" in file.read_bytes()
    assert b"Dr. GRPO" in file.read_bytes()


def test_seeds_are_five_on_the_world_and_three_on_flickr8k():
    parser = sweep_parser(axes.ALL)
    told = parser.format_help().replace("\n", " ")
    assert "0,1,2,3,4 of world; 0,1,2 of flickr8k" in " ".join(told.split())
    assert [p["seed"] for p in axes.ALL.grid(["rloo"])] == [0]


def test_cpu_seconds_go_on_where_a_run_was_stopped(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])

    def passes(seconds):
        now[0] += seconds

    def train(cost, *steps):
        cost.on_train_begin()
        for number, seconds in enumerate(steps):
            passes(0.25)  # The end of an epoch, say.
            cost.on_train_batch_begin(number)
            passes(seconds)
            cost.on_train_batch_end(number)
        passes(0.5)
        cost.on_train_end()

    first = CPUSeconds(str(tmp_path))
    first.prepared(lambda: passes(2.0))()
    train(first, 3.0, 1.0)  # Traced, and not.
    assert cost_scores(tmp_path) == {
        "cpu_seconds": 7.0,
        "cpu_ms_a_step": 1000.0,
    }
    again = CPUSeconds(str(tmp_path))
    again.set_state(first.get_state())
    # Two learners who take turns have two graphs.
    again.set_model(types.SimpleNamespace(period=2))
    passes(100.0)
    train(again, 5.0, 5.0, 4.0)
    assert cost_scores(tmp_path) == {
        "cpu_seconds": 22.25,
        "cpu_ms_a_step": 2500.0,
    }
    assert again.prepared(None) is None


def record(method, seed, cider, own, strangers, **more):
    scores = {"cider_d": cider, "r@10": own, "strangers_r@10": strangers}
    return {"method": method, "seed": seed, **scores, **more}


ABOUT = ("method", "seed", "lambda")
RECORDS = [
    record("speaker_mle", 0, 0.6, 60.0, 61.0, distinct_captions=900),
    record("speaker_mle", 1, 0.7, 64.0, 63.0, distinct_captions=900),
    record("luo2018", 0, 0.9, 70.0, 69.0, distinct_captions=500)
    | {"lambda": 0.01, "cpu_seconds": 10.0},
    record("psst_multinomial", 0, 0.8, 90.0, 80.0, distinct_captions=700)
    | {"lambda": 0.01, "cpu_seconds": 20.0},
    record("psst_multinomial", 1, 0.8, 94.0, 82.0, distinct_captions=700)
    | {"lambda": 0.01, "cpu_seconds": 22.0},
    record("psst_multinomial", 0, 0.5, 59.0, 60.0, distinct_captions=700)
    | {"lambda": 0.1},
    record("st_multinomial", 0, 0.85, 70.0, 65.0, distinct_captions=600)
    | {"lambda": 0.01},
    record("st_multinomial", 0, 0.55, 50.0, 45.0, distinct_captions=600)
    | {"lambda": 0.1},
]


def test_tables_pair_seeds_and_name_who_is_not_exceeded():
    tables = {t.title: t for t in all_tables(RECORDS, "here")}
    rows = {row[0]: row for row in tables["paired by seed"].rows}
    psst = rows["PSST Multinomial, \u03bb = 0.01"]
    # 30 and 30; seed 1 of Luo et al. is not there.
    assert psst[2].startswith("+30.00 [+30.00") and psst[-1] == "2"
    assert rows["Luo et al. 2018, \u03bb = 0.01"][1:] == [
        *("+0.300", "+10.00", "+8.000", "-400.00", "-", "-", "1")
    ]
    best = tables["no point has more CIDEr-D and more recall by strangers"]
    assert [row[0] for row in best.rows] == [
        "Luo et al. 2018, \u03bb = 0.01",
        "PSST Multinomial, \u03bb = 0.01",
    ]
    json.dumps([table.rows for table in tables.values()])


def test_orders_are_compared_where_both_are_alike():
    found = list(orders_of(runs_of(RECORDS)))
    over = "PSST Multinomial > "
    # 0.8, to which the other one's curve is read off between its points.
    first, second = found[:2]
    assert (first.told, first.at) == (f"{over}ST Multinomial", "CIDEr-D = 0.8")
    assert first.gaps == [pytest.approx(90 - (70 - 20 * 0.05 / 0.3))]
    assert (first.score, second.score) == ("own R@10", "strangers R@10")
    assert first.natural == [] and first.verdict == "holds, one seed"
    # No CIDEr-D in common, and another reward at the same lambda.
    where = {(o.told, o.at): o for o in found if o.score == "strangers R@10"}
    luo = f"{over}Luo et al. 2018"
    near = where[luo, "\u03bb = 0.01"]
    assert (near.gaps, near.natural) == ([11.0], [pytest.approx(-0.1)])
    assert near.verdict == "a trade, one seed"
    far = where[luo, "\u03bb = 0.1; \u03bb = 0.01"]
    assert far.gaps == [-9.0] and far.verdict == "reversed, one seed"


def test_orders_are_of_equal_lambda_where_it_means_the_same():
    at = [
        record(method, seed, cider, 70.0, 70.0 + lambda_) | {"lambda": lambda_}
        for method, cider, lambdas in (
            ("ipo", 0.6, (1.0, 2.0)),
            ("dpo", 0.7, (1.0, 3.0)),
        )
        for lambda_ in lambdas
        for seed in range(2)
    ]
    (found,) = (
        o for o in orders_of(runs_of(at)) if o.score == "strangers R@10"
    )
    assert (found.at, found.gaps) == ("\u03bb = 1", [0.0, 0.0])
    # Of most seeds alone, and without an equal one at what there is.
    kept = [r for r in at if (r["lambda"], r["method"]) != (1.0, "dpo")]
    kept = [r for r in kept if (r["lambda"], r["seed"]) != (2.0, 1)]
    (found,) = (
        o for o in orders_of(runs_of(kept)) if o.score == "strangers R@10"
    )
    assert (found.at, found.gaps) == ("\u03bb = 1; \u03bb = 3", [-2.0, -2.0])


def test_what_collapsed_judges_no_order():
    unfinished = record("ipo", 0, 0.1, 9.0, 9.0, unfinished_rate=0.6)
    fine = record("dpo", 0, 0.6, 70.0, 70.0, unfinished_rate=0.1)
    silent = record("dpo", 0, 0.0, 1.0, 1.0, mean_length=0.2)
    assert is_collapsed({0: unfinished}) and is_collapsed({0: silent})
    assert not is_collapsed({0: fine})
    assert not is_collapsed({0: fine, 1: unfinished})
    found = orders_of(runs_of([unfinished, fine]))
    assert {o.verdict for o in found} == {"one collapsed"}


def test_a_verdict_is_beyond_the_interval_and_sees_cider():
    more, less = [1.0, 1.1, 0.9], [-1.0, -1.1, -0.9]
    open_ = [1.0, -1.0, 0.1]
    assert verdict(more) == verdict(less, -1) == "holds"
    assert verdict(less) == verdict(more, -1) == "reversed"
    assert verdict(open_) == verdict(open_, natural=more) == "undecided"
    assert verdict(more, natural=less) == "a trade"
    assert verdict(less, natural=more) == "a trade"
    assert (
        verdict(more, natural=open_) == verdict(more, natural=more) == "holds"
    )
    assert verdict(less, natural=less) == "reversed"
    assert verdict([0.0]) == "equal, one seed"


def draw_records(folder):
    """The figure and the logs of `python -m reproduce axes --tensorboard`."""
    with open(folder / "points.jsonl", "w") as file:
        for found in RECORDS:
            about = {k: found[k] for k in found if k in ABOUT}
            result = {k: found[k] for k in found if k not in ABOUT}
            json.dump({"settings": about, "result": result}, file)
            file.write("\n")
    path, logs = folder / "axes.svg", folder / "logs"
    command = ["axes", str(folder), "--figure", str(path)]
    assert main([*command, "--tensorboard", str(logs)]) == 0
    return path, logs


def test_a_report_draws_the_figure_of_all_methods(tmp_path, monkeypatch):
    monkeypatch.setattr(figure, "draw", lambda *_: None)
    _, logs = draw_records(tmp_path)
    out = tmp_path / "report.html"
    assert report.main([str(logs), "-o", str(out), "--preset", "all_1"]) == 0
    _, page = out.read_text().split('<div id="tf-view">')
    page, _ = page.split("<!-- others -->")
    assert page.startswith("<h2>All methods: recall by strangers</h2>")
    names = {title_of(found["method"]) for found in RECORDS}
    assert names <= set(re.findall('"legendgroup": "(.*?)"', page))
    assert report.main([str(logs), "-o", str(out), "--preset", "all_4"]) == 0
    assert "CPU seconds of training lower" in out.read_text()


def test_names_in_the_figure_do_not_meet(tmp_path, monkeypatch):
    written = []

    def write(axis, text, mark, box, unit, color):
        written.append((axis, text, box))

    monkeypatch.setattr(figure, "_write", write)
    path, logs = draw_records(tmp_path)
    runs = {folder.name for folder in (logs / "psst_multinomial").iterdir()}
    assert runs == {"lambda=0.01,seed=0", "lambda=0.01,seed=1"} | {
        "lambda=0.1,seed=0"
    }
    assert (logs / "comparison").is_dir()
    assert path.stat().st_size > 10_000
    # Four methods, three of them with what strangers find and a cost.
    assert len(written) == 3 * 4 + 2
    for number, (axis, _, one) in enumerate(written):
        for other, _, two in written[number + 1 :]:
            apart = one[0] >= two[2] or two[0] >= one[2]
            apart = apart or one[1] >= two[3] or two[1] >= one[3]
            assert apart or axis is not other
    curves = figure.curves_of(runs_of(RECORDS), "cider_d", "r@10")
    x, y = curves["psst_multinomial"]
    most = figure.of_most_seeds(runs_of(RECORDS))
    assert [(place.method, dict(place.numbers)) for place in most].count(
        ("psst_multinomial", {"lambda": 0.01})
    ) == 1
    assert len(most) == len(runs_of(RECORDS)) - 1
    assert x[:, 0].tolist() == [0.8, 0.5] and y[0, 0] == 92.0
    assert np.isnan(y[:, 1:]).all()


def test_points_far_out_are_named_and_not_drawn():
    from matplotlib.figure import Figure

    def points(method, *cider):
        return [
            record(method, 0, c, 10.0 + 50.0 * c, 0.0) | {"lambda": float(i)}
            for i, c in enumerate(cider)
        ]

    many = points("sll", *np.linspace(0.9, 1.1, 9))
    runs = runs_of([*many, *points("scst", 0.95, 0.1), *points("wtf", 0.0)])
    near, out = figure.near_the_others(runs)
    curves = figure.curves_of(near, "cider_d", "r@10")
    assert {k: len(x) for k, (x, _) in curves.items()} == {"sll": 9, "scst": 1}
    assert out.endswith(": SCST, \u03bb = 1; WTF")
    axis = Figure().subplots()
    figure._fit(axis, curves)
    assert 0.8 < axis.get_xlim()[0] < 0.9 and axis.get_ylim()[0] > 50.0
    axis.set_xscale("log")
    figure._fit(axis, curves)
    assert 0.85 < axis.get_xlim()[0] < 0.9
    assert figure.near_the_others(runs_of(many))[1] == ""


def test_a_figure_of_another_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must end in .png, .svg or .pdf"):
        figure.draw([], str(tmp_path / "axes.xyz"))
