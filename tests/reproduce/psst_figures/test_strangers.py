from reproduce.psst_figures import curve_tables
from reproduce.sle.paper import SLE
from reproduce.wtf_rl.paper import WTF_RL
from tests.reproduce.captioning.tiny_records import heard
from tests.reproduce.captioning.tiny_records import line


def strange(records):
    """The same points, heard by two strangers."""
    found = []
    for r in records:
        mean = {k: r[f"fixed_{k}"] - 4 for k in ("r@1", "r@5", "r@10")}
        scores = {
            **{f"strangers_{k}": v for k, v in mean.items()},
            "strangers_r@10_bag_of_words": mean["r@10"] + 3,
            "strangers_spread": 4.2,
            "private_language": r["r@10"] - mean["r@10"],
        }
        people = {f"human_{k}": 51.0 + r["seed"] for k in scores}
        found.append({**r, **scores, **people})
    return found


RECORDS = heard(line("psst_multinomial", 10.0, rho=0.25) + line("luo2018", 0.0))


def test_strangers_come_before_the_fixed_listener_in_every_table():
    human = {"method": "listener_gt", "r@1": 20.0, "r@5": 40.0, "r@10": 60.0}
    human |= {f"strangers_{k}": 31.0 for k in ("r@1", "r@5", "r@10")}
    records = [*strange(RECORDS), {**human, "seed": 0}]
    tables = {t.name: t for t in curve_tables(records, "tiny")}
    two = tables["Table 2"]
    assert [head.split()[0] for head in two.head[1:10]] == [
        *(["held-out"] * 3 + ["fixed"] * 3 + ["own"] * 3)
    ]
    claim = tables["Claims"]
    place = claim.head.index("held-out R@10")
    (row,) = claim.rows
    # Half the own listener's difference, as the fixed one's.
    assert row[place].startswith("+5.0 [")
    # The last nine are strangers, fixed, own of human captions.
    (row,) = [r for r in tables["Table 3"].rows if r[0].startswith("Listener")]
    heads = tables["Table 3"].head
    assert row[heads.index("held-out R@10")] == "31.0"
    assert row[heads.index("own R@10")] == "60.0"
    points = tables["Points"]
    assert points.head[-3:-1] == ["own - held-out R@10", "own - fixed R@10"]
    assert any(note.startswith("Held-out: the mean") for note in points.notes)


def test_other_papers_have_the_columns_too():
    found = {"seed": 0, "cider_d": 1.0, "strangers_r@10": 40.0}
    found |= {"strangers_spread": 3.0, "human_strangers_r@10": 50.0}
    found |= {"private_language": 7.0, "strangers_r@1": 9.0}
    records = [{**found, "method": "xe"}, {**found, "method": "sll"}]
    greedy = [
        t for t in SLE.tables(records, "tiny") if t.title == "greedy captions"
    ]
    for table in greedy:
        place = table.head.index("held-out R@10")
        shown = {row[0]: row[place] for row in table.rows}
        assert shown["human captions"] == "50.00" and shown["xe"] == "40.00"
    records = [{**found, "method": "tf"}, {**found, "method": "wtf_rl"}]
    tables = WTF_RL.tables(records, "tiny")
    assert tables[0].title.endswith("mean of the held-out listeners")
    (writing,) = [t for t in tables if t.title == "writing"]
    assert "own - held-out" in writing.head


def test_gains_are_of_one_seed_each():
    records = strange(RECORDS)
    alone = [
        {**r, "method": "speaker_mle", "lambda": None}
        for r in records
        if (r["method"], r["lambda"]) == ("luo2018", 1e-3)
    ]
    tables = {t.name: t for t in curve_tables([*records, *alone], "x")}
    gains = tables["Gains"]
    first = dict(zip(gains.head, gains.rows[0]))
    assert (first[""], first["\u03bb"]) == ("psst_multinomial", "0.001")
    # Half of what it is above by its own listener.
    for head in ("held-out R@10", "fixed R@10", "bag of words R@10"):
        assert first[head] == "+5.0 [+5.0, +5.0]"
    assert "speaker_mle" not in [r[0] for r in gains.rows]
    assert "Gains" not in {t.name for t in curve_tables(RECORDS, "x")}
