"""All methods on the same axes: one budget, one reward, paired tables."""

import dataclasses
import json
import re
import time

import numpy as np
import pytest

from reproduce.command import main
from reproduce.comparisons.all import figure
from reproduce.comparisons.all import paper as axes
from reproduce.comparisons.all import settings as numbers
from reproduce.comparisons.all.cost import CPUSeconds
from reproduce.comparisons.all.cost import cpu_seconds
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
from reproduce.comparisons.all.tables import all_tables
from reproduce.experiment import Experiment
from reproduce.options import sweep_parser
from reproduce.sle.paper import SLE
from reproduce.wtf_rl.paper import WTF_RL
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


def test_a_row_of_a_paper_has_the_budget_of_all(experiment, monkeypatch):
    monkeypatch.setattr(axes, "frozen_listener", lambda experiment: "listener")
    view = axes.as_paper(experiment, WTF_RL)
    settings, own = view.settings, WTF_RL.settings["quick"]
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
    assert view.given["retriever"] == "listener"
    assert axes.as_paper(experiment, SLE).settings.num_samples == 2
    settings = axes.as_paper(experiment, axes.PSST).settings
    assert settings.batch_size == settings.ensemble_batch_size == 5
    assert settings.ensemble_epochs == TINY.joint_epochs
    assert settings.ensemble_human_epochs == TINY.joint_epochs
    assert settings.ensemble_rate == TINY.joint_rate


def test_points_are_trained_heard_and_counted(experiment):
    with run_eagerly():
        record = experiment.result("dr_grpo", lambda_=0.01)
        view = axes.as_paper(experiment, axes.PSST)
        reward = axes.traded_off(view, 0.25)
        plain = axes.traded_off(view, 0.0)
    # No listener of its own: the one that all share.
    assert record["r@10"] == record["fixed_r@10"]
    assert record["cpu_seconds"] > 0
    assert 0 < record["rs_div_1"] <= 1
    weights = [weight for weight, _ in reward.weighted]
    assert weights == [0.75, 0.25 * view.batches().batch_size]
    assert view.batches().batch_size == 5
    assert plain.name == "cider_d"


def test_who_learns_has_a_rate_and_who_stays_is_frozen(experiment):
    view = axes.as_paper(experiment, axes.PSST)
    with run_eagerly():
        relax, ipo = (
            axes.own_training(view, row, {"lambda": 0.0})
            for row in ("relax", "ipo")
        )
    assert set(relax.model.learners) == {"speaker", "baseline"}
    assert set(relax.model.learners) == set(relax.rates)
    speaker = ipo.networks["speaker"]
    assert ipo.model.speaker is speaker and speaker.trainable
    estimator = ipo.model.learners["speaker"].objective.terms[0].estimator
    reference = estimator.reference
    assert reference is not speaker and not reference.trainable
    for ours, theirs in zip(speaker.get_weights(), reference.get_weights()):
        np.testing.assert_array_equal(ours, theirs)


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

    stopped, again = CPUSeconds(str(tmp_path)), CPUSeconds(str(tmp_path))
    stopped.prepared(lambda: passes(2.0))()
    passes(9.0)  # What is between is no training.
    stopped.on_train_begin()
    passes(3.0)
    again.set_state(stopped.get_state())
    passes(100.0)
    again.on_train_begin()
    passes(1.5)
    again.on_train_end()
    assert cpu_seconds(tmp_path) == {"cpu_seconds": 6.5}
    assert again.prepared(None) is None
    assert cpu_seconds(tmp_path / "none") == {}


def record(method, seed, cider, own, strangers, **more):
    scores = {"cider_d": cider, "r@10": own, "strangers_r@10": strangers}
    return {"method": method, "seed": seed, **scores, **more}


RECORDS = [
    record("speaker_mle", 0, 0.6, 60.0, 61.0, distinct_captions=900),
    record("speaker_mle", 1, 0.7, 64.0, 63.0, distinct_captions=900),
    *(
        record(method, seed, *scores, distinct_captions=distinct)
        | {"lambda": lambda_, "cpu_seconds": 10.0}
        for method, seed, lambda_, distinct, *scores in (
            ("luo2018", 0, 0.01, 500, 0.9, 70.0, 69.0),
            ("psst_multinomial", 0, 0.01, 700, 0.8, 90.0, 80.0),
            ("psst_multinomial", 1, 0.01, 700, 0.8, 94.0, 82.0),
            ("psst_multinomial", 0, 0.1, 700, 0.5, 59.0, 60.0),
            ("st_multinomial", 0, 0.01, 600, 0.85, 70.0, 65.0),
            ("st_multinomial", 0, 0.1, 600, 0.55, 50.0, 45.0),
        )
    ),
]


def test_tables_pair_seeds():
    tables = {t.title: t for t in all_tables(RECORDS, "here")}
    rows = {row[0]: row for row in tables["paired by seed"].rows}
    psst = rows["PSST Multinomial, \u03bb = 0.01"]
    # 30 and 30; seed 1 of Luo et al. is not there.
    assert psst[2].startswith("+30.00 [+30.00") and psst[-1] == "2"
    assert rows["Luo et al. 2018, \u03bb = 0.01"][1:] == [
        *("+0.300", "+10.00", "+8.000", "-400.00", "-", "-", "1")
    ]


def test_orders_are_compared_where_both_are_alike():
    found = list(orders_of(runs_of(RECORDS)))
    where = {(o.told, o.at): o for o in found if o.score == "held-out R@10"}
    over = "PSST Multinomial > "
    same = where[f"{over}ST Multinomial", "\u03bb = 0.1"]
    assert (same.gaps, same.verdict) == ([15.0], "a trade, one seed")
    # Another reward at the same lambda: with all that there are.
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
    # Of most seeds alone, and without an equal one at what there is.
    kept = [r for r in at if (r["lambda"], r["method"]) != (1.0, "dpo")]
    kept = [r for r in kept if (r["lambda"], r["seed"]) != (2.0, 1)]
    for records, where, gaps in (
        (at, "\u03bb = 1", [0.0, 0.0]),
        (kept, "\u03bb = 1; \u03bb = 3", [-2.0, -2.0]),
    ):
        found = orders_of(runs_of(records))
        (order,) = (o for o in found if o.score == "held-out R@10")
        assert (order.at, order.gaps) == (where, gaps)


def test_what_collapsed_judges_no_order():
    unfinished = record("ipo", 0, 0.1, 9.0, 9.0, unfinished_rate=0.6)
    fine = record("dpo", 0, 0.6, 70.0, 70.0, unfinished_rate=0.1)
    silent = record("dpo", 0, 0.0, 1.0, 1.0, mean_length=0.2)
    assert is_collapsed({0: unfinished}) and is_collapsed({0: silent})
    assert not is_collapsed({0: fine})
    assert not is_collapsed({0: fine, 1: unfinished})
    found = orders_of(runs_of([unfinished, fine]))
    assert {o.verdict for o in found} == {"one collapsed"}


MORE, LESS, OPEN = [1.0, 1.1, 0.9], [-1.0, -1.1, -0.9], [1.0, -1.0, 0.1]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((MORE,), "holds"),
        ((LESS, -1), "holds"),
        ((MORE, 1, OPEN), "holds"),
        ((MORE, 1, MORE), "holds"),
        ((LESS,), "reversed"),
        ((MORE, -1), "reversed"),
        ((LESS, 1, LESS), "reversed"),
        ((OPEN,), "undecided"),
        ((OPEN, 1, MORE), "undecided"),
        ((MORE, 1, LESS), "a trade"),
        ((LESS, 1, MORE), "a trade"),
        (([0.0],), "equal, one seed"),
    ],
)
def test_a_verdict_is_beyond_the_interval_and_sees_cider(given, told):
    assert verdict(*given) == told


def test_the_figure_has_a_panel_a_family_and_names_few(tmp_path):
    silent = record("rl", 0, 0.0, 1.0, 1.0, mean_length=0.2)
    about = ("method", "seed", "lambda")
    with open(tmp_path / "points.jsonl", "w") as file:
        for found in (silent, *RECORDS):
            settings = {k: found[k] for k in found if k in about}
            result = {k: found[k] for k in found if k not in about}
            json.dump({"settings": settings, "result": result}, file)
            file.write("\n")
    path = tmp_path / "axes.svg"
    assert main(["axes", str(tmp_path), "--figure", str(path)]) == 0
    said = re.findall(r"<!-- (.*?) -->", path.read_text())
    assert set(FAMILIES) < set(said) and len(FAMILIES) == 9
    named = {title_of(row) for row in DEFAULT} & set(said)
    assert named == {"PSST Multinomial", "Luo et al. 2018"}
    # Ticks from the least mean to the greatest.
    assert {"50", "60", "70", "80"} < set(said) and "90" not in said
    # Nobody understands it, and no panel shows it.
    assert "Not shown, degenerate: RL" in said
    assert len(figure.NAMED) == 10 and set(figure.NAMED) < set(DEFAULT)
    for methods in FAMILIES.values():
        assert set(methods) & set(figure.NAMED)
    curves = figure.curves_of(runs_of(RECORDS))
    np.testing.assert_array_equal(
        curves["psst_multinomial"][:, :, 0], [[0.8, 81.0], [0.5, 60.0]]
    )
