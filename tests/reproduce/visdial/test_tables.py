import numpy as np

from reproduce.visdial import PUBLISHED_FIGURES
from reproduce.visdial import ROWS
from reproduce.visdial import DialogData
from reproduce.visdial import dialog_tables
from reproduce.visdial import sample_table
from reproduce.visdial.rows import ABLATIONS
from reproduce.visdial.settings import PUBLISHED
from reproduce.visdial.tables import TABLES
from tests.dialogs import encoded
from tests.dialogs import features

FOUND = {
    "mrr": 0.51234,
    "r@1": 40.123,
    "r@5": 60.0,
    "r@10": 70.0,
    "mean_rank": 9.5,
    "ndcg": 0.31234,
    "mrr_other_images": 0.50012,
    "count": 10,
}


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_found_and_published_figures_stand_in_one_line():
    text = dialog_tables({"hciae_g_dis": {"generative": FOUND}}, "some data")
    lines = text.splitlines()
    (line, _) = [x for x in lines if x.startswith("| hciae_g_dis")]
    assert cells(line) == [
        "hciae_g_dis",
        *("0.5123", "40.12", "60.00", "70.00", "9.50"),
        *("0.3123", "0.5001"),
        *("0.5467", "44.35", "65.28", "71.55", "14.23"),
    ]
    assert "some data" in text and "VisDial v0.9" in text
    head = cells(lines[2])
    assert head[6:8] == ["NDCG", "MRR, other images"]
    assert head[8:] == [f"published {name}" for name in head[1:6]]
    assert "image of another dialog" in text and "NDCG is absent" not in text


def test_ndcg_is_absent_by_name_and_the_control_only_where_it_is():
    found = {k: v for k, v in FOUND.items() if k != "ndcg"}
    text = dialog_tables({"hciae_d_np": {"discriminative": found}}, "data")
    (line,) = [x for x in text.splitlines() if x.startswith("| hciae_d_np ")]
    assert cells(line)[6:8] == ["-", "0.5001"]
    assert "NDCG is absent: the data have no dense annotations" in text
    # As records were before there was a control.
    del found["mrr_other_images"]
    text = dialog_tables({"hciae_d_np": {"discriminative": found}}, "data")
    assert "image of another dialog" not in text


def test_what_is_not_known_is_a_dash():
    text = dialog_tables({}, "nothing")
    for line in text.splitlines():
        if line.startswith("| hciae_g_mle_control"):
            assert cells(line)[1:] == ["-"] * 12
        elif line.startswith("| lf_g"):
            assert cells(line)[1:8] == ["-"] * 7


def test_every_row_is_in_a_table_and_every_table_of_rows():
    shown = {row for _, _, rows in TABLES for row in rows}
    assert shown == {"answer_prior", *ROWS} - set(ABLATIONS)
    published = {row for rows in PUBLISHED_FIGURES.values() for row in rows}
    assert published == set(ROWS) - {"hciae_g_mle_control", *ABLATIONS}
    found = {row: {"generative": {"mrr": 0.5}} for row in ABLATIONS}
    text = dialog_tables(found, "data")
    assert all(f"| {row}" in text for row in ABLATIONS)


def test_answers_have_a_table_of_their_own():
    answers = {"count": 10, "distinct": 3, "distinct_share": 0.3}
    text = dialog_tables({"lf_g": {"answers": answers}}, "some data")
    assert cells(text.splitlines()[-1]) == ["lf_g", "10", "3", "0.3"]


class Study:
    settings = PUBLISHED
    data = DialogData(
        *(encoded(),) * 3, *(features(),) * 3, name="random words"
    )

    def __init__(self):
        self.asked = []

    def answers(self, row, decoder=None, limit=None):
        self.asked.append((row, decoder, limit))
        count = limit * self.data.test.rounds
        return [f"{len(self.asked)} {i}" for i in range(count)]


def test_samples_of_other_noise_stand_side_by_side():
    study = Study()
    lines = sample_table(study, seeds=(4, 5), dialogs=2).splitlines()
    rows, decoders, _ = zip(*study.asked)
    assert rows == ("hciae_g_mle", "hciae_g_dis", "hciae_g_dis")
    assert [d and d.channel.seed for d in decoders] == [None, 4, 5]
    assert cells(lines[2])[2:] == ["G-MLE", "G-DIS (z4)", "G-DIS (z5)"]
    # The first dialog has two rounds, the second three.
    places = [cells(line)[2] for line in lines[4:]]
    assert places == ["1 0", "1 1", "1 4", "1 5"]
    truth = study.data.test.answer(np.array([1]))[0, 2]
    assert cells(lines[-1])[1] == study.data.test.vocabulary.decode(truth)
