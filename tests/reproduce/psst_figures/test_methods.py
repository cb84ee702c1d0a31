import pytest

from reproduce.psst_figures.methods import ABLATION
from reproduce.psst_figures.methods import AT_CIDER
from reproduce.psst_figures.methods import AT_RECALL
from reproduce.psst_figures.methods import CLAIMS
from reproduce.psst_figures.methods import HUMAN_CAPTIONS
from reproduce.psst_figures.methods import TITLES
from reproduce.psst_figures.methods import by_method
from reproduce.psst_figures.methods import curves_of
from reproduce.psst_figures.methods import listeners
from reproduce.psst_figures.methods import method_title
from reproduce.psst_figures.methods import rho_curves
from reproduce.psst_figures.methods import rho_notes
from tests.reproduce.captioning.tiny_records import RECORDS
from tests.reproduce.captioning.tiny_records import line
from tests.reproduce.captioning.tiny_records import without


def test_methods_have_the_titles_of_the_paper():
    assert method_title("psst_gumbel") == "PSST Gumbel Softmax"
    assert method_title("luo2018_code") == "Luo et al. 2018 (code)"
    assert method_title("mine") == "mine" and method_title("x_code") == "x_code"
    assert len(set(TITLES.values())) == len(TITLES)


def test_what_is_published_is_of_methods_that_have_a_title():
    quoted = {*AT_RECALL, *AT_CIDER, *ABLATION, *HUMAN_CAPTIONS}
    assert quoted | {name for claim in CLAIMS for name in claim} <= set(TITLES)


def test_methods_come_in_the_order_of_the_legend():
    records = line("mine", 0.0) + list(reversed(RECORDS))
    assert list(by_method(records)) == [
        "PSST Multinomial",
        "ST Multinomial",
        "Luo et al. 2018",
        "mine",
    ]


def test_one_rho_is_chosen_where_there_are_several():
    chosen = by_method(RECORDS, rho=0.5)["PSST Multinomial"]
    assert {record["rho"] for record in chosen} == {0.5} and len(chosen) == 4
    alone = line("psst_multinomial", 0.0, rho=0.75)
    assert by_method(alone)["PSST Multinomial"] == alone
    with pytest.raises(ValueError, match="rho=0.3, of 0.25, 0.5"):
        by_method(RECORDS, rho=0.3)


def test_temperatures_make_methods_of_their_own():
    records = line("st_gumbel", 0.0, temperature=0.5)
    assert list(by_method(records)) == ["ST Gumbel Softmax"]
    records += line("st_gumbel", 0.0, temperature=1.0)
    assert list(by_method(records)) == [
        "ST Gumbel Softmax, \u03c4 = 0.5",
        "ST Gumbel Softmax, \u03c4 = 1.0",
    ]


def test_a_method_that_lacks_a_point_has_no_curve():
    records = line("luo2018", 0.0)
    records[1] = {**records[1], "cider_d": float("nan")}
    groups = by_method(records + line("mine", 0.0))
    curves, lacking = curves_of(groups)
    assert list(curves) == ["mine"] and lacking == {"Luo et al. 2018": 1}
    curves, lacking = curves_of(groups, "meteor")
    assert curves == {} and lacking == {"Luo et al. 2018": 4, "mine": 4}


def test_never_and_always_sampling_are_the_ends_of_partial_sampling():
    records = [
        *RECORDS,
        *line("dense", -9.0, rho=1.0),
        *line("psst_gumbel", 1.0, rho=0.25),
    ]
    curves = rho_curves(records)
    titles, rhos = zip(*curves)
    assert set(titles) == {"PSST Multinomial"} and rhos == (0, 0.25, 0.5, 1)
    ends = [curves["PSST Multinomial", rho][0].recall[0] for rho in rhos]
    assert ends == [60.0, 70.0, 72.0, 51.0]
    # A method's own ends come before those of others.
    records = [*RECORDS, *line("psst_multinomial", 7.0, rho=0)]
    assert rho_curves(records)["PSST Multinomial", 0.0][0].recall[0] == 67.0
    # Records need not have everything.
    assert rho_curves(without(RECORDS, "rho")) == {}
    assert rho_curves(without(RECORDS, "cider_d")) == {}


def test_rhos_that_differ_are_noted():
    groups = {
        "PSST Multinomial": [{"rho": 0.25}],
        "PSST Gumbel Softmax": [{"rho": 0.5}, {"rho": 0.5}],
        "ST Multinomial": [{}],
    }
    assert rho_notes(groups) == [
        "Partial sampling, \u03c1: PSST Multinomial 0.25, "
        "PSST Gumbel Softmax 0.5."
    ]
    assert rho_notes({"PSST Multinomial": [{"rho": 0.25}]}) == []


def test_others_are_told_from_what_else_has_a_recall():
    record = dict.fromkeys(
        (
            *("r@10", "image_to_text_r@10", "human_r@10", "human_first_r@10"),
            *("zoo_r@10", "unseen_r@10", "fixed_r@10", "fixed_r@1"),
            *("fixed_image_to_text_r@10", "beam_fixed_r@10", "beam_r@10"),
        ),
        50.0,
    )
    assert listeners([record]) == ["fixed_", "unseen_", "zoo_", ""]
    assert listeners([record], "r@1") == ["fixed_"]
    assert listeners([record], decoding="beam_") == ["fixed_", ""]
    assert listeners([{"fixed_r@10": None, "r@10": 1.0}]) == [""]
