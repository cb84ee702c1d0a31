from reproduce.psst_figures import curve_tables
from tests.reproduce.captioning.tiny_records import RECORDS
from tests.reproduce.captioning.tiny_records import heard
from tests.reproduce.captioning.tiny_records import line
from tests.reproduce.captioning.tiny_records import without


def tables(records=RECORDS, **options):
    return {t.name: t for t in curve_tables(records, "tiny data", **options)}


def row(table, name):
    (found,) = [cells for cells in table.rows if cells[0] == name]
    return dict(zip(range(len(found)), found))


def half(mean):
    """The interval of two seeds that differ by 2."""
    return f"{mean:.1f} [{mean - 12.7062:.1f}, {mean + 12.7062:.1f}]"


def test_recall_stands_at_a_fixed_cider_beside_what_is_published():
    table = tables(cider=1.1)["Table 2"]
    assert table.title == "recall (%) at CIDEr-D = 1.1"
    assert list(row(table, "PSST Multinomial").values())[1:] == [
        half(36.0),
        half(66.0),
        half(76.0),
        "2",
        *("38.1", "74.2", "86.3"),
    ]
    assert table.head[1:4] == ["R@1", "R@5", "R@10"]
    assert table.head[5:] == [f"published R@{k}" for k in (1, 5, 10)]
    # One seed: no interval.
    assert row(table, "Luo et al. 2018")[3] == "60.0"
    assert "tiny data" in table.notes[0] and "COCO" in table.notes[0]


def test_naturalness_stands_at_a_fixed_recall():
    table = tables(recall=67.0)["Table 1"]
    assert table.title == "naturalness at own recall@5 = 67 %"
    cells = row(table, "PSST Multinomial")
    # At 60 and 62 with CIDEr-D 1.2, and down by 0.2 for 10: 1.06 and 1.1.
    assert cells[1].startswith("1.080 [") and cells[2].startswith("0.308 [")
    assert cells[3] == cells[5] == "-"
    assert cells[7] == "1.119"
    assert "METEOR is absent: none of 10 points has it." in table.notes
    assert row(table, "Luo et al. 2018")[1] == "-"
    assert any(
        note == "Luo et al. 2018: 1 of 1 seeds do not go there; recall@5 is 45 "
        "to 55."
        for note in table.notes
    )


def test_seeds_that_do_not_go_there_are_counted():
    records = line("luo2018", 0.0)
    records[-2]["cider_d"] = 1.05
    table = tables(records, cider=1.1)["Table 2"]
    cells = row(table, "Luo et al. 2018")
    assert cells[3] == "65.0" and cells[4] == "1/2"
    assert (
        "Luo et al. 2018: 1 of 2 seeds do not go there; CIDEr-D is 1 to 1.2."
        in table.notes
    )


def test_methods_are_rows_whether_trained_or_published():
    table = tables(RECORDS + line("mine", 1.0), cider=1.1)["Table 2"]
    assert list(row(table, "mine").values())[3:] == [half(67), "2", *"---"]
    assert list(row(table, "G-GAN").values())[1:] == [
        *("-",) * 4,
        *("14.3", "40.1", "55.8"),
    ]


def test_the_ablation_has_its_own_cider_and_human_captions_none():
    human = [
        {"method": "listener_gt", "seed": s, "r@1": 20.0 + 2 * s, "r@5": 50.0}
        for s in (0, 1)
    ]
    human = [{**record, "r@10": 60.0} for record in human]
    table = tables(RECORDS + human, cider=1.1, ablation_cider=1.0)["Table 3"]
    assert "at CIDEr-D = 1" in table.title
    assert row(table, "PSST Multinomial")[3] == half(81.0)
    assert list(row(table, "Listener trained on GT").values())[1:] == [
        half(21.0),
        "50.0 [50.0, 50.0]",
        "60.0 [60.0, 60.0]",
        "2",
        *("25.4", "53.9", "66.8"),
    ]
    assert row(table, "GT captions, PSST's listener")[1] == "-"
    assert not [cells for cells in table.rows if cells[0] == "ST Multinomial"]


def test_recall_stands_against_rho():
    table = tables(cider=1.1)["Figure 3f"]
    names = [cells[0] for cells in table.rows]
    assert names == [
        f"PSST Multinomial, \u03c1 = {x}" for x in ("0", "0.25", "0.5")
    ]
    assert [cells[3] for cells in table.rows] == [half(66), half(76), half(78)]
    none = tables(line("luo2018", 0.0))["Figure 3f"]
    assert none.rows == [] and "No method was trained" in none.notes[-1]


def test_claims_are_differences_of_the_same_seeds():
    table = tables(cider=1.1)["Claims"]
    cells = row(table, "PSST Multinomial - ST Multinomial")
    assert list(cells.values())[1:] == [
        "1.1",
        "+10.0 [+10.0, +10.0]",
        "2",
        "1 to 1.2",
        "+10.0 [+10.0, +10.0]",
        "2",
    ]
    # Of Luo there is seed 0 alone.
    cells = row(table, "PSST Multinomial - Luo et al. 2018")
    assert cells[2] == "+15.0" and cells[3] == "1"


def test_claims_are_compared_where_both_of_a_pair_go():
    records = RECORDS + line("reinforce_joint", 0.0)
    for record in records[-4:]:
        record["cider_d"] -= 0.1
    found = tables(records)["Claims"]
    assert row(found, "PSST Multinomial - ST Multinomial")[1] == "1.2"
    assert row(found, "PSST Multinomial - REINFORCE")[1] == "1.1"
    assert row(found, "PSST Multinomial - REINFORCE")[4] == "1 to 1.1"
    for record in records[-4:]:
        record["cider_d"] -= 0.5
    found = tables(records)["Claims"]
    note = "PSST Multinomial - REINFORCE: no CIDEr-D in common."
    assert note in found.notes


def test_every_point_is_in_the_last_table():
    table = tables()["Points"]
    assert len(table.rows) == 8
    assert sum(int(cells[-1]) for cells in table.rows) == len(RECORDS)
    assert table.rows[0][:5] == [
        "psst_multinomial",
        "0.25",
        "-",
        "0.001",
        "1.200 [1.200, 1.200]",
    ]
    assert "repeats" not in table.head
    some = [dict(record, repeat_rate=0.125) for record in RECORDS]
    some[0]["repeat_rate"] = None
    table = tables(some)["Points"]
    assert table.head[-2:] == ["repeats", "seeds"]
    assert [cells[-2] for cells in table.rows][:2] == [
        "0.125 (1)",
        "0.125 [0.125, 0.125]",
    ]


def test_recall_by_the_fixed_listener_stands_before_that_by_the_own_one():
    found = tables(heard(RECORDS), cider=1.1)
    table = found["Table 2"]
    assert table.head == [
        *("", "fixed R@1", "fixed R@5", "fixed R@10"),
        *("own R@1", "own R@5", "own R@10", "seeds"),
        *("published R@1", "published R@5", "published R@10"),
    ]
    cells = row(table, "PSST Multinomial")
    assert cells[3].startswith("38.0 [") and cells[6] == half(76.0)
    assert cells[8] == "38.1"
    assert any("not held" in note for note in table.notes)
    cells = row(found["Table 3"], "PSST Multinomial")
    assert cells[3].startswith("38.0 [") and cells[6] == half(76.0)
    assert found["Figure 3f"].head[1:4] == table.head[1:4]
    cells = row(found["Claims"], "PSST Multinomial - ST Multinomial")
    assert [cells[i] for i in (2, 3, 4)] == [
        "+5.0 [+5.0, +5.0]",
        "+10.0 [+10.0, +10.0]",
        "2",
    ]
    points = found["Points"]
    cells = dict(zip(points.head, points.rows[0]))
    assert cells["fixed R@10"].startswith("35.5")
    assert cells["own - fixed R@10"].startswith("+35.5")
    assert cells["a bigram twice"].startswith("0.240")
    assert cells["new trigrams"].startswith("0.360")
    assert cells["log prob / word"].startswith("-1.800")


def test_human_captions_are_heard_by_the_fixed_listener_itself():
    human = {"method": "listener_gt", "seed": 0, "lm_log_prob": -3.4}
    human |= {"r@1": 20.0, "r@5": 50.0, "r@10": 60.0}
    found = tables(heard(RECORDS) + [human])
    cells = row(found["Table 3"], "Listener trained on GT")
    assert [cells[i] for i in (1, 3, 4, 6)] == ["20.0", "60.0"] * 2
    points = found["Points"]
    (cells,) = [r for r in points.rows if r[0] == "listener_gt"]
    assert dict(zip(points.head, cells))["log prob / word"] == "-3.400"


def test_methods_are_compared_by_beam_search_as_well():
    found = tables(heard(RECORDS, gain=3.0))
    beam = found["Table 2, beam search"]
    assert beam.title == "recall (%) at CIDEr-D = 1.3"
    assert row(beam, "PSST Multinomial")[6] == half(74.0)
    assert "published R@1" not in beam.head
    assert {"Claims, beam search", "Points, beam search"} < found.keys()
    assert not [name for name in tables() if "beam" in name]


def test_the_gain_over_the_speaker_alone_is_told_by_listener():
    alone = [
        {**r, "method": "speaker_mle", "lambda": None}
        for r in line("", 0.0, weights=(0,))
    ]
    for record in alone:
        record["cider_d"] = 1.1
    records = heard(RECORDS + alone)
    for record in records[-2:]:
        record |= {f"fixed_{k}": record[k] for k in ("r@1", "r@5", "r@10")}
    table = tables(records)["Speaker alone"]
    cells = row(table, "PSST Multinomial")
    # 75 and 77 by its own, half of that by the fixed one; 60 and 62 alone.
    assert cells[6] == "+15.0 [+15.0, +15.0]" and cells[7] == "2"
    assert cells[3].startswith("-23.0 [")
    assert not [cells for cells in table.rows if cells[0] == "Speaker alone"]


def test_without_a_curve_there_are_dashes_and_no_error():
    found = tables(line("g_gan", 0.0, seeds=(0,), weights=(None,)))
    assert found["Table 2"].title.endswith("CIDEr-D = -")
    assert row(found["Table 2"], "G-GAN")[1] == "-"
    assert "1 of 1 seeds do not go there; CIDEr-D is 1.2." in str(
        found["Table 2"]
    )
    lacking = tables(without(RECORDS, "cider_d"))
    assert "CIDEr-D or R@10 is absent: none of 10 points has it." in str(
        lacking["Table 2"]
    )


def test_a_title_is_no_markup_in_latex():
    for table in curve_tables(RECORDS, "50 % of tiny_data"):
        assert {len(cells) for cells in table.rows} <= {len(table.head)}
        assert "50 \\% of tiny\\_data" in table.latex()
        assert "50 % of tiny_data" in table.markdown()
