from reproduce.wtf_rl.tables import distinctive_tables


def records():
    """Two seeds of two rows, retrieval and writing."""
    return [
        {
            "method": row,
            "seed": seed,
            "r@1": 20.0 + gain + seed,
            "unseen_r@1": 15.0 + gain + seed,
            "cider_d": 0.9 + gain / 100,
            "self_bleu": 0.5 - gain / 100,
        }
        for row, gain in (("tf", 0.0), ("wtf", 5.0))
        for seed in (0, 1)
    ]


def test_retrieval_and_writing_have_tables_of_their_own():
    tables = distinctive_tables(records(), "a world")
    titles = [table.title for table in tables]
    assert titles == [
        "the image by its caption, unseen retriever",
        "the image by its caption",
        "writing",
        "paired by seed",
    ]
    unseen, found, writing, gaps = tables
    assert found.rows[0] == ["tf", "20.50 [14.15, 26.85]", "2"]
    assert unseen.rows[1][1].startswith("20.50")
    # Less Self-BLEU is better.
    assert writing.head == ["", "CIDEr-D", "Self-BLEU", "seeds"]
    assert writing.best == [(1, 1), (1, 2)]
    assert gaps.rows[0] == ["wtf - tf", "r@1", "+5.000 [+5.000, +5.000]", "2"]


def test_both_decodings_and_human_captions_have_their_rows():
    told = {"human_lm_log_prob": -3.4, "human_novel_trigrams": 0.37}
    beam = {"lm_log_prob": -2.0, "repeated_bigram_rate": 0.2}
    greedy = {"greedy_r@1": 30.0, "greedy_lm_log_prob": -1.5}
    found = [{**r, **told, **beam, **greedy} for r in records()]
    tables = {t.title: t for t in distinctive_tables(found, "")}
    writing = tables["writing"]
    place = writing.head.index("log prob / word")
    cells = {row[0]: row[place].split()[0] for row in writing.rows}
    assert cells == {
        "tf": "-2.000",
        "wtf": "-2.000",
        "human captions": "-3.400",
    }
    # People are there to compare with, and do not compete.
    assert (2, place) not in writing.best
    rows = tables["writing, greedy"].rows
    assert [row[1].split()[0] for row in rows] == ["-1.500"] * 2 + ["-3.400"]
    head = tables["the image by its caption, greedy"].head
    assert head == ["", "R@1", "seeds"]


def test_what_alpha_moves_is_a_row_of_its_own():
    found = [{**record, "alpha": 1.0} for record in records()[2:]]
    first, *_ = distinctive_tables(records() + found, "")
    assert [row[0] for row in first.rows] == ["tf", "wtf", "wtf, alpha 1"]
