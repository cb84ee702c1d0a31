import numpy as np
import pytest

from reproduce.psst_figures import curve_panels
from tests.reproduce.captioning.tiny_records import RECORDS
from tests.reproduce.captioning.tiny_records import line
from tests.reproduce.captioning.tiny_records import without


def panel(letter, records, **options):
    (found,) = [
        panel
        for panel in curve_panels(records, **options)
        if panel.title.startswith(f"({letter})")
    ]
    return found


def drawn(panel):
    return {line.title: line for line in panel.lines}


def test_there_are_the_six_panels_of_the_paper():
    assert [panel.title for panel in curve_panels(RECORDS)] == [
        "(a) BLEU-4",
        "(b) CIDEr-D",
        "(c) METEOR",
        "(d) ROUGE-L",
        "(e) SPICE",
        "(f) \u03c1, at CIDEr-D = 1.2",
    ]


def test_a_line_joins_the_means_of_seeds_in_the_order_of_lambda():
    found = panel("b", list(reversed(RECORDS)))
    lines = drawn(found)
    assert set(lines) == {
        "PSST Multinomial",
        "ST Multinomial",
        "Luo et al. 2018",
    }
    psst = lines["PSST Multinomial"]
    np.testing.assert_allclose(psst.x, [1.2, 1.0])
    np.testing.assert_allclose(psst.y, [71.0, 81.0])
    assert psst.labels[0] == "\u03bb = 0.001, 2 of 2 seeds"
    seeds = sorted(y.tolist() for _, y in psst.seeds)
    assert seeds == [[70.0, 80.0], [72.0, 82.0]]
    assert found.note == ""


def test_a_mean_that_lacks_seeds_is_marked():
    records = line("luo2018", 0.0)[:-1]
    luo = drawn(panel("b", records))["Luo et al. 2018"]
    assert luo.whole.tolist() == [True, False]
    assert luo.labels[1] == "\u03bb = 0.005, 1 of 2 seeds"


def test_other_recalls_and_rho_are_drawn_where_asked():
    found = panel("b", RECORDS, recall="r@1", rho=0.5)
    assert found.y == "recall@1 (%)"
    assert drawn(found)["PSST Multinomial"].y[0] == pytest.approx(33.0)


def test_a_measure_that_is_absent_is_so_by_name():
    found = panel("c", RECORDS)
    # Of the two rho, one is drawn.
    assert (
        found.lines == [] and found.note == "absent: none of 10 points has it"
    )
    some = [
        {**record, "meteor": 0.2} if record["method"] != "luo2018" else record
        for record in RECORDS
    ]
    found = panel("c", some)
    assert set(drawn(found)) == {"PSST Multinomial", "ST Multinomial"}
    assert found.note == "Luo et al. 2018: absent (2 of 2 points lack it)"


def test_many_methods_without_a_measure_do_not_cover_the_panel():
    names = "psst_gumbel", "st_gumbel", "sr_pl", "luo2018"
    several = [line(name, 1.0) for name in names]
    records = [r for rows in several for r in rows]
    records += [{**r, "meteor": 0.2} for r in line("st_multinomial", 2.0)]
    note = panel("c", records).note
    count = len(several[0])
    assert note == (
        f"4 of 5 methods: absent ({4 * count} of {5 * count} points lack it)"
    )


def test_recall_against_rho_is_read_off_each_seed_at_one_cider():
    found = panel("f", RECORDS, cider=1.1)
    (psst,) = found.lines
    assert found.title == "(f) \u03c1, at CIDEr-D = 1.1"
    assert psst.x.tolist() == [0.0, 0.25, 0.5]
    np.testing.assert_allclose(psst.y, [66.0, 76.0, 78.0])
    # Of 65 and 67, the interval is 12.706 times 1 to both sides.
    np.testing.assert_allclose(psst.low[0], 66 - 12.706, atol=1e-3)
    np.testing.assert_allclose(psst.high[0], 66 + 12.706, atol=1e-3)
    assert [y.tolist() for _, y in psst.seeds] == [
        pytest.approx([65.0, 75.0, 77.0]),
        pytest.approx([67.0, 77.0, 79.0]),
    ]


def test_the_cider_of_rho_is_the_greatest_that_all_reach():
    shorter = line("psst_multinomial", 5.0, rho=0.75)
    for record in shorter:
        record["cider_d"] -= 0.05
    found = panel("f", RECORDS + shorter)
    assert found.title.endswith("CIDEr-D = 1.15") and found.note == ""
    assert found.lines[0].x.tolist() == [0.0, 0.25, 0.5, 0.75]


def test_a_rho_that_does_not_reach_the_cider_is_named():
    shorter = line("psst_multinomial", 5.0, rho=0.75)
    for record in shorter:
        record["cider_d"] -= 0.05
    found = panel("f", RECORDS + shorter, cider=1.2)
    assert found.note == "not reached by PSST Multinomial, \u03c1 = 0.75"
    assert found.lines[0].x.tolist() == [0.0, 0.25, 0.5]


def test_one_seed_has_no_interval():
    records = [
        *line("psst_multinomial", 1.0, seeds=(0,), rho=0.25),
        *line("psst_multinomial", 2.0, seeds=(0,), rho=0.75),
    ]
    (psst,) = panel("f", records).lines
    assert np.isnan(psst.low).all() and np.isnan(psst.high).all()


def test_without_several_rho_there_is_no_comparison():
    found = panel("f", line("psst_multinomial", 1.0, rho=0.25))
    assert found.lines == [] and found.title == "(f) \u03c1"
    assert found.note == "absent: no method was trained with several \u03c1"


def test_without_a_cider_in_common_there_is_no_comparison():
    far = line("psst_multinomial", 1.0, rho=0.75)
    for record in far:
        record["cider_d"] -= 0.9
    found = panel("f", RECORDS + far)
    assert found.lines == []
    assert found.note == "absent: the curves have no CIDEr-D in common"


def test_a_method_without_a_weight_is_a_point_without_a_label_of_one():
    (gan,) = panel("b", without(line("g_gan", 0.0)[:1], "lambda")).lines
    assert gan.labels == ["1 of 1 seeds"] and gan.x.tolist() == [1.2]


def test_listeners_to_human_captions_have_no_curve():
    human = [{"method": "listener_gt", "seed": 0, "r@10": 50.0}]
    assert len(panel("b", RECORDS + human).lines) == 3
    with pytest.raises(ValueError, match="must hold a point of a speaker"):
        curve_panels(human)
