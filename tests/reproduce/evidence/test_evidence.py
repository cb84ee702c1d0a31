"""Quantities, verdicts and claims on small records, and the command."""

import json
import math
import types

import numpy as np
import pytest

from reproduce.command import main
from reproduce.evidence import Claim
from reproduce.evidence import Quantity
from reproduce.evidence import Registered
from reproduce.evidence import command
from reproduce.evidence import judge
from reproduce.evidence import register
from reproduce.evidence import rerun
from reproduce.evidence.prose import numbers
from reproduce.evidence.prose import rewritten
from reproduce.evidence.quantity import Absent
from reproduce.evidence.records import load_results
from tfcap.curves import Interval

SEEDS = 0, 1, 2


def points(method, weights, scores, seeds=SEEDS):
    """Records of a curve; a score is a function of weight and seed."""
    return [
        {"method": method, "seed": seed, "lambda": weight}
        | {name: score(weight, seed) for name, score in scores.items()}
        for weight in weights
        for seed in seeds
    ]


RECORDS = [
    *points(
        "a",
        (0.1, 0.2),
        {
            "cider_d": lambda w, s: 1.0 - w,
            "r@10": lambda w, s: 50 + 100 * w + s * s,
            "fixed_r@10": lambda w, s: 50 + s,
        },
    ),
    *points(
        "b",
        (0.1, 0.2, 0.3),
        {
            "cider_d": lambda w, s: 1.1 - 2 * w,
            "r@10": lambda w, s: 40 + 100 * w + s,
        },
    ),
    *points(
        "alone",
        (None,),
        {"cider_d": lambda w, s: 0.85, "r@10": lambda w, s: 30 + s},
    ),
]


@pytest.mark.parametrize(
    "expression, wanted",
    [
        ("r@10: a lambda=0.1", {s: 60 + s * s for s in SEEDS}),
        ("r@10: a lambda=0.2 - b lambda=0.1", {0: 20, 1: 20, 2: 22}),
        (
            "r@10: b lambda=0.2 / b lambda=0.1",
            {s: (60 + s) / (50 + s) for s in SEEDS},
        ),
        ("r@10 - fixed_r@10: a lambda=0.1", {0: 10, 1: 10, 2: 12}),
        ("least r@10: a lambda=0.1, alone", {None: 31}),
        ("greatest r@10: a lambda=0.1, alone", {None: 60 + 5 / 3}),
        # CIDEr-D 0.85 is halfway of a's curve, and at b's weight 0.125.
        ("r@10: a @ 0.85", {s: 65 + s * s for s in SEEDS}),
        ("r@10: a - b @ 0.85", {s: 12.5 + s * s - s for s in SEEDS}),
        ("r@10: a - b @ reached", {s: 60 + s * s - 50 - s for s in SEEDS}),
        # Both are straight lines between 0.8 and 0.9: means are halfway.
        ("r@10: a - b @ shared", {s: 12.5 + s * s - s for s in SEEDS}),
        ("r@10: a - alone @ alone", {s: 35 + s * s - s for s in SEEDS}),
    ],
)
def test_quantities_of_small_records(expression, wanted):
    found = Quantity(expression).values(RECORDS)
    assert found == pytest.approx(wanted)


def test_seeds_that_one_row_lacks_take_no_part():
    records = [r for r in RECORDS if (r["method"], r["seed"]) != ("b", 1)]
    found = Quantity("r@10: a lambda=0.2 - b lambda=0.1").values(records)
    assert found == pytest.approx({0: 20, 2: 22})
    interval, seeds = Quantity("r@10: b lambda=0.1").interval(records)
    # Student's t of one degree of freedom, by hand: 12.706 * 1.414 / 1.414.
    assert seeds == 2 and interval.mean == pytest.approx(51)
    assert interval.high - 51 == pytest.approx(12.7062, abs=1e-3)


@pytest.mark.parametrize(
    "expression, words",
    [
        ("r@5: a lambda=0.1", "no record has r@5"),
        ("r@10: a", "no record has r@10 of 'a'"),
        ("r@10: c @ 0.85", "no record is of 'c'"),
        ("r@10: a @ 2.0", "a does not go there"),
        ("fixed_r@10: b @ 0.85", "lack fixed_r@10"),
    ],
)
def test_what_records_lack_is_named(expression, words):
    with pytest.raises(Absent, match=words):
        Quantity(expression).values(RECORDS)


def test_a_row_must_be_one_point():
    twice = [*RECORDS, {**RECORDS[0], "kind": "x"}]
    with pytest.raises(Absent, match="names several points"):
        Quantity("r@10: a lambda=0.1").values(twice)
    with pytest.raises(ValueError, match="`expression` must be"):
        Quantity("r@10 a")


UP = Registered(5.0, 2.0, 8.0, 3, "2026-01-01")
LEVEL = Registered(1.0, -2.0, 4.0, 3, "2026-01-01")
FLIPPED = Registered(-5.0, -8.0, -2.0, 3, "2026-01-01")


@pytest.mark.parametrize(
    "direction, known, found, wanted",
    [
        (">", UP, (4.0, 1.0, 7.0), "holds"),
        (">", UP, (9.0, 6.0, 12.0), "holds"),
        (">", UP, (1.0, 0.5, 1.5), "weaker"),
        (">", UP, (3.0, -1.0, 7.0), "weaker"),
        (">", UP, (-1.0, -3.0, 1.0), "gone"),
        ("<", FLIPPED, (-4.0, -7.0, -1.0), "holds"),
        ("<", FLIPPED, (1.0, -1.0, 3.0), "gone"),
        ("~", LEVEL, (9.0, -1.0, 19.0), "holds"),
        ("~", LEVEL, (3.0, 1.0, 5.0), "weaker"),
        ("~", LEVEL, (9.0, 7.0, 11.0), "gone"),
        ("", UP, (3.0, 2.9, 3.1), "holds"),
        ("", UP, (9.0, 7.0, 11.0), "weaker"),
        ("", UP, (9.0, 8.5, 9.5), "gone"),
    ],
)
def test_verdicts(direction, known, found, wanted):
    assert judge(direction, known, Interval(*found), 3) == wanted


def test_one_seed_is_judged_by_the_prediction_interval():
    # 3 * sqrt(1 + 3 / 1) = 6 to both sides of 5.
    one = [Interval(x, -math.inf, math.inf) for x in (-0.9, 10.9, 11.1)]
    inside = [judge("", UP, x, 1, again=True) for x in one]
    assert inside == ["holds", "holds", "gone"]
    assert judge(">", UP, one[0], 1, again=True) == "gone"
    far = UP._replace(mean=50.0, low=47.0, high=53.0)
    assert judge(">", far, one[1], 1, again=True) == "weaker"
    # Registered of one seed: a tenth to both sides.
    single = Registered(5.0, -math.inf, math.inf, 1, "2026-01-01")
    near = [judge("", single, Interval(x, x, x), 1) for x in (5.4, 5.6)]
    assert near == ["holds", "gone"]


def test_the_prediction_interval_holds_95_percent_of_new_means():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4000, 4))
    inside = 0
    for old, new in zip(draws[:, :3], draws[:, 3]):
        half = 4.302653 * old.std(ddof=1) / math.sqrt(3)
        mean = old.mean()
        known = Registered(mean, mean - half, mean + half, 3, "")
        found = Interval(new, -math.inf, math.inf)
        inside += judge("", known, found, 1, again=True) == "holds"
    assert inside / 4000 == pytest.approx(0.95, abs=0.015)


def test_numbers_of_prose():
    text = (
        "R@10 at 0.95, BLEU-4 .5: +1.2 [-3.4, 5,600] and 30-80 % (ICCV 2019, "
        "Table 2, 95 %); `x=7` [a](b-8.md), 3f, 3e-4."
    )
    found = [number for _, number in numbers(text)]
    assert found == ["0.95", ".5", "+1.2", "-3.4", "5,600", "30", "80"]


@pytest.mark.parametrize(
    "old, value, plus, wanted",
    [
        ("5.7", 12.34, False, "12.3"),
        ("+5.7", 12.34, True, "+12.3"),
        ("-.03", 0.052, True, "+.05"),
        (".03", 1.26, False, "1.26"),
        ("-1.7", 0.01, False, "0.0"),
        ("-1.7", -0.01, False, "0.0"),
        ("6,000", 12345.0, False, "12,345"),
        ("999", 1234.0, False, "1234"),
        ("5.75", 5.7501, False, "5.75"),
    ],
)
def test_numbers_keep_their_form(old, value, plus, wanted):
    assert rewritten(old, value, plus) == wanted


def test_fields_are_written_in_their_forms():
    claim = Claim(
        "page/id",
        "page.md",
        "run",
        "At lambda 0.1 {> r@10: A - b|ci} more, {r@10: A - b|neg} fewer "
        "{r@10: A - b|bounds,neg}, {r@10: A|%} %.",
        {"A": "a rho=0.5"},
    )
    assert claim.fields[0].quantity == Quantity("r@10: a rho=0.5 - b")
    gap, share = Interval(1.25, -0.5, 3.0), Interval(0.251, 0.2, 0.3)
    found = [gap, gap, gap, share]
    page = "At lambda 0.1 +9.99 [9, 9.9] more, 9.9\nfewer [9.9, 9.9], 9 %."
    right = "At lambda 0.1 +1.25 [-0, 3.0] more, -1.2\nfewer [-3.0, 0.5], 25 %."
    assert len(claim.wrong(claim.find(page), found)) == 4
    filled = claim.filled(page, found)
    assert filled.replace("[0,", "[-0,") == right
    assert claim.wrong(claim.find(filled), found) == []
    for text in ("", page + page, page.replace("0.1", "0.2", 1)):
        with pytest.raises(ValueError, match="must have the words of"):
            claim.find(text)


@pytest.mark.parametrize("text", ["finds {r@10: a} of 7", "finds more"])
def test_a_claim_measures_its_numbers(text):
    with pytest.raises(ValueError, match="must have fields for what"):
        Claim("page/id", "page.md", "run", text)


def test_records_of_visual_dialog(tmp_path):
    late = {"mrr": {"values": [0.6], "seeds": [1]}}
    rows = {"generative": {"a": {"mrr": {"values": [0.5, 0.6]}}, "b": late}}
    rows["answers"] = {"a": {"distinct": {"values": [3, 4]}}}
    (tmp_path / "summary.json").write_text(json.dumps({"rows": rows}))
    about = {"method": "a", "player": "generative"}
    wanted = [
        {**about, "seed": 0, "mrr": 0.5, "distinct": 3},
        {**about, "seed": 1, "mrr": 0.6, "distinct": 4},
    ]
    found = load_results(tmp_path / "summary.json")
    assert [r for r in found if r["method"] == "a"] == wanted
    assert [r["seed"] for r in found if r["method"] == "b"] == [1]
    for one in wanted:
        folder = tmp_path / "runs" / str(one["seed"])
        folder.mkdir(parents=True)
        groups = {
            "generative": {"mrr": one["mrr"]},
            "answers": {"distinct": one["distinct"]},
        }
        run = {"seed": one["seed"], "rows": {"a": groups}}
        (folder / "results.json").write_text(json.dumps(run))
    assert load_results(tmp_path / "runs") == wanted


def test_the_command_says_what_is_not_run_here(capsys):
    assert main(["--check", "--records", "--paper", "sle"]) == 0
    told = capsys.readouterr().out
    assert "sle/clips " in told and "wtf_rl/" not in told
    assert "By the records: 16 holds." in told
    assert "sle_clips: takes some" in told
    assert "python -m reproduce sle --data clips" in told
    assert main(["check", "--paper", "none"]) == 2
    assert "`--paper` must be among" in capsys.readouterr().err
    assert main(["check", "--straddling", "--paper", "sle"]) == 0
    assert "[-0.02079, 0.07643], 3 seeds, not shown" in capsys.readouterr().out


def made(tmp_path, gap):
    """A run of one seed, made again, as a sweep leaves it."""
    folder = tmp_path / "sle_world"
    folder.mkdir(exist_ok=True)
    lines = [
        {
            "settings": {"method": row, "seed": 0},
            "result": {"rs_mean_cider_d": score},
        }
        for row, score in (("sll", 0.93), ("sll_sle", 0.93 - gap))
    ]
    text = "\n".join(map(json.dumps, lines)) + "\n"
    (folder / "points.jsonl").write_text(text)


@pytest.mark.parametrize(
    "gap, status, verdict", [(0.03, 0, "holds"), (-0.01, 1, "gone")]
)
def test_runs_are_made_again_and_judged(
    tmp_path, monkeypatch, capsys, gap, status, verdict
):
    asked = []

    def run(words, **options):
        asked.append(words[3:])
        made(tmp_path, gap)
        return types.SimpleNamespace(wait=lambda: 0)

    monkeypatch.setattr(rerun.subprocess, "Popen", run)
    monkeypatch.setattr(
        command,
        "claims_of",
        lambda papers: [
            c
            for c in register.load_pages()["sle"].claims
            if c.name == "sle/world-samples"
        ],
    )
    register._records_of.cache_clear()
    register.measure.cache_clear()
    assert main(["check", "--fast", "--out", str(tmp_path)]) == status
    (words,) = asked
    assert words[0] == "sle" and words[-1] == str(tmp_path / "sle_world")
    told = capsys.readouterr().out
    assert f"sle/world-samples  holds           {verdict}" in told


def test_ctrl_c_and_failures_end_the_command(tmp_path, monkeypatch, capsys):
    for code, status in ((130, 130), (1, 1)):
        monkeypatch.setattr(command, "run_again", lambda *_, code=code: code)
        options = ["--fast", "--paper", "sle", "--out", str(tmp_path)]
        assert main(["check", *options]) == status
    told = capsys.readouterr().out
    assert "the same command goes on" in told
    assert "sle_world: failed with status 1" in told


def test_ctrl_c_waits_for_the_sweep(tmp_path, monkeypatch, capsys):
    waits = []

    def wait():
        waits.append(1)
        if len(waits) == 1:
            raise KeyboardInterrupt
        return 130

    process = types.SimpleNamespace(wait=wait)
    monkeypatch.setattr(rerun.subprocess, "Popen", lambda *_, **__: process)
    options = ["--fast", "--paper", "sle", "--out", str(tmp_path)]
    assert main(["check", *options]) == 130
    assert len(waits) == 2
    assert "the same command goes on" in capsys.readouterr().out


def test_intervals_are_registered_once_and_renewed_when_asked(
    tmp_path, monkeypatch
):
    path = tmp_path / "registered.json"
    monkeypatch.setattr(register, "INTERVALS", path)
    claims = [
        c
        for c in register.load_pages()["sle"].claims
        if c.name == "sle/world-samples"
    ]
    (key,) = register.register(claims, "2026-01-01")
    assert register.registered()[key].date == "2026-01-01"
    assert register.register(claims, "2026-02-02") == []
    # What has not changed keeps its date.
    register.register(claims, "2026-02-02", renew=True)
    assert register.registered()[key].date == "2026-01-01"
    changed = json.loads(path.read_text())
    changed[key][0] = 9.0
    path.write_text(json.dumps(changed))
    register.register(claims, "2026-02-02", renew=True)
    assert register.registered()[key].date == "2026-02-02"
    assert register.registered()[key].mean < 0


def test_a_planned_claim_waits_for_its_records(monkeypatch):
    text = "finds {> r@10: a - b|ci} more"
    claim = Claim("p/i", "README.md", "run", text, planned=True)
    page = register.Page("README.md", [claim], [])
    assert page.faults("nothing of it") == []
    assert page.filled("nothing of it") == "nothing of it"
    from reproduce.evidence.check import check_claim

    found = check_claim(claim, ("results/there_is_no_such_folder",))
    assert found.verdict == "not run here"
