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


def test_another_rho_is_drawn_where_asked():
    found = panel("b", RECORDS, rho=0.5)
    assert found.y == "recall@10 (%)"
    assert drawn(found)["PSST Multinomial"].y[0] == pytest.approx(73.0)


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


def shorter(by):
    """Points of another rho, whose captions are less natural."""
    points = line("psst_multinomial", 5.0, rho=0.75)
    return [{**point, "cider_d": point["cider_d"] - by} for point in points]


@pytest.mark.parametrize(
    ("records", "cider", "at", "note", "rhos"),
    [
        (RECORDS, 1.1, ", at CIDEr-D = 1.1", "", [0.0, 0.25, 0.5]),
        # By default at the greatest that all reach.
        (
            *(RECORDS + shorter(0.05), None, ", at CIDEr-D = 1.15", ""),
            [0.0, 0.25, 0.5, 0.75],
        ),
        (
            *(RECORDS + shorter(0.05), 1.2, ", at CIDEr-D = 1.2"),
            "not reached by PSST Multinomial, \u03c1 = 0.75",
            [0.0, 0.25, 0.5],
        ),
        (
            *(RECORDS + shorter(0.9), None, ""),
            "absent: the curves have no CIDEr-D in common",
            None,
        ),
        (
            *(line("psst_multinomial", 1.0, rho=0.25), None, ""),
            "absent: no method was trained with several \u03c1",
            None,
        ),
    ],
)
def test_recall_against_rho_is_at_one_cider(records, cider, at, note, rhos):
    found = panel("f", records, cider=cider)
    assert (found.title, found.note) == (f"(f) \u03c1{at}", note)
    assert [x.x.tolist() for x in found.lines] == ([rhos] if rhos else [])


def test_recall_against_rho_is_read_off_each_seed():
    (psst,) = panel("f", RECORDS, cider=1.1).lines
    np.testing.assert_allclose(psst.y, [66.0, 76.0, 78.0])
    # Of 65 and 67, the interval is 12.706 times 1 to both sides.
    np.testing.assert_allclose(psst.low[0], 66 - 12.706, atol=1e-3)
    np.testing.assert_allclose(psst.high[0], 66 + 12.706, atol=1e-3)
    assert [y.tolist() for _, y in psst.seeds] == [
        pytest.approx([65.0, 75.0, 77.0]),
        pytest.approx([67.0, 77.0, 79.0]),
    ]
    one = [record for record in RECORDS if record["seed"] == 0]
    (psst,) = panel("f", one).lines
    assert np.isnan(psst.low).all() and np.isnan(psst.high).all()


def test_a_method_without_a_weight_is_a_point_without_a_label_of_one():
    (gan,) = panel("b", without(line("g_gan", 0.0)[:1], "lambda")).lines
    assert gan.labels == ["1 of 1 seeds"] and gan.x.tolist() == [1.2]


def test_listeners_to_human_captions_have_no_curve():
    human = [{"method": "listener_gt", "seed": 0, "r@10": 50.0}]
    assert len(panel("b", RECORDS + human).lines) == 3
    with pytest.raises(ValueError, match="must hold a point of a speaker"):
        curve_panels(human)
