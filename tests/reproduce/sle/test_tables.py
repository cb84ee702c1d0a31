from reproduce.sle.tables import sequence_tables

SCORES = {"cider_d": 0.5, "beam_cider_d": 0.6, "rs_div_1": 0.3, "bleu_4": 0.2}


def records(**gains):
    """Two seeds of a row each; a row's gain is added to every score."""
    return [
        {"method": row, "seed": seed}
        | {k: v + gain + 0.01 * seed for k, v in SCORES.items()}
        for row, gain in gains.items()
        for seed in (0, 1)
    ]


def table(tables, name):
    return next(table for table in tables if table.name == name)


def test_all_rows_have_tables_of_both_decodings():
    tables = sequence_tables(records(xe=0.0, mle=0.1), "")
    found = [(t.name, t.title) for t in tables if "rs" not in t.name]
    assert found == [
        ("SLE, Table 2", "the best beam"),
        ("SLE, Table 2", "greedy captions"),
        ("SPIDEr", "greedy captions"),
        ("SPIDEr", "the best beam"),
    ]


def test_rows_have_means_intervals_and_seeds():
    tables = sequence_tables(records(xe=0.0, sll=0.1), "a world")
    found = table(tables, "SLE, Table 2")
    assert found.head == ["", "CIDEr-D", "seeds"]
    assert found.rows[0] == ["xe", "0.605 [0.541, 0.669]", "2"]
    assert found.best == [(1, 1)]
    assert found.notes == [
        "Found on: a world; mean and 95 % interval over seeds."
    ]


def test_rows_are_in_the_order_of_the_paper():
    found = records(sll_sle=0.2, sll=0.1, xe=0.0)
    found += [{**r, "alpha": 0.5} for r in records(sll_sle=0.1)]
    found += [{**r, "entropy_weight": 0.001} for r in records(sll_me=0.1)]
    rows = table(sequence_tables(found, ""), "SLE, Table 2").rows
    names = "xe", "sll", "sll_me, entropy weight 0.001", "sll_sle"
    names += ("sll_sle, alpha 0.5",)
    assert [row[0] for row in rows] == list(names)


def test_of_less_is_better_the_least_is_bold():
    found = [
        {"method": row, "seed": 0, "rs_mutual_bleu_4": value}
        for row, value in (("xe", 0.1), ("sll", 0.8))
    ]
    assert sequence_tables(found, "")[0].best == [(0, 1)]


def test_a_difference_is_paired_by_seed():
    found = records(sll=0.1, sll_sle=0.3)
    del found[-1]
    rows = table(sequence_tables(found, ""), "Differences").rows
    assert ["sll_sle - sll", "cider_d", "+0.200", "1"] in rows


def test_rates_are_set_side_by_side_with_their_span():
    found = [
        {"method": "pg_cider", "seed": 0, "rate": rate, "cider_d": score}
        for rate, score in ((1e-4, 0.5), (1e-3, 0.8))
    ]
    rows = table(sequence_tables(found, ""), "Sensitivity").rows
    assert rows == [["pg_cider", "0.500", "0.800", "0.300", "1"]]
    names = [table.name for table in sequence_tables(found[:1], "")]
    assert names == ["SPIDEr"]
