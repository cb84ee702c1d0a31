import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from reproduce.visdial import DialogData
from reproduce.visdial import write_page
from tests.dialogs import encoded
from tests.dialogs import features


class Study:
    """Says what a test wants to see on the page."""

    def __init__(self, said, images=lambda row: None, name="<real> data"):
        test = encoded()
        self.data = DialogData(
            *(test, test, test),
            *(features(),) * 3,
            name=name,
            test_images=images,
        )
        self.said = said

    def answers(self, row, limit):
        return [self.said[row]] * (limit * self.data.test.rounds)


@pytest.fixture
def page(tmp_path):
    def make(study, **arguments):
        path = tmp_path / "page.html"
        write_page(path, study, **arguments)
        return path.read_text(encoding="utf-8")

    return make


def picture(row):
    return np.full((8, 6, 3), row, "uint8")


def test_pictures_are_in_the_page_itself(page):
    study = Study({"hciae_g_mle": "a", "hciae_g_dis": "b"}, picture)
    text = page(study, dialogs=3)
    sources = re.findall(r'src="data:image/png;base64,([^"]+)"', text)
    for row, source in enumerate(sources):
        image = np.array(Image.open(io.BytesIO(base64.b64decode(source))))
        np.testing.assert_array_equal(image, picture(row))
    assert len(sources) == 3
    assert not re.search(r"https?:|<script|<link|@import|url\(", text)


def test_a_large_picture_is_made_smaller(page):
    study = Study({"g": "a"}, lambda row: np.zeros((100, 960, 3), "uint8"))
    source = re.search(r"base64,([^\"]+)", page(study, rows=["g"])).group(1)
    image = Image.open(io.BytesIO(base64.b64decode(source)))
    assert image.size == (480, 50)


def test_without_pictures_the_dialogs_are_there(page):
    text = page(Study({"g": "a"}), rows=["g"], dialogs=100)
    assert "<img" not in text and text.count("<article>") == 8


def test_text_is_escaped(page):
    study = Study({"hciae_g_mle": "<b>&", "hciae_g_dis": "<unk>"})
    text = page(study, note="1 < 2")
    assert "<b>" not in text and "&lt;b&gt;&amp;" in text
    assert "&lt;unk&gt;" in text and "1 &lt; 2" in text
    assert "&lt;real&gt; data" in text and "<real>" not in text


def test_a_sign_tells_what_differs(page):
    rounds = int((encoded().question_index[:2] >= 0).sum())
    rows = {"hciae_g_mle": "zebra", "hciae_g_dis": "zebra"}
    assert page(Study(rows), dialogs=2).count("<mark>") == 0
    rows["hciae_g_dis"] = "horse"
    text = page(Study(rows), dialogs=2)
    assert text.count("<mark>\u2260&nbsp;horse</mark>") == rounds
    assert "differs from G-MLE" in text


def test_a_sign_tells_what_is_as_the_human_answered(page):
    test = encoded()
    truth = test.vocabulary.decode(test.answer(np.array([1]))[0, 0])
    text = page(Study({"g": truth}), rows=["g"], dialogs=2)
    assert f'{truth}&nbsp;<span title="as the human">\u2713' in text


def test_an_absent_round_is_left_out_and_silence_is_told(page):
    study = Study({"g": ""})
    text = page(study, rows=["g"], dialogs=8)
    there = int((study.data.test.question_index >= 0).sum())
    assert text.count("(says nothing)") == there
    assert there < 8 * study.data.test.rounds


def test_figures_stand_above_the_dialogs(page):
    study = Study({"hciae_g_mle": "a", "hciae_g_dis": "b"})
    found = {"mrr": 0.51234, "r@1": 40.0, "ndcg": 0.6, "mrr_other_images": 0.5}
    results = {"hciae_g_dis": {"generative": found}, "lf_g": {"generative": {}}}
    text = page(study, results=results)
    head, table = text.split("<article>")[0], []
    for row in re.findall(r"<tr>(.*?)</tr>", head):
        table.append(re.findall(r"<t[hd]>(.*?)</t[hd]>", row))
    assert table[0] == [
        *("row", "MRR", "R@1", "R@5", "R@10", "Mean"),
        *("NDCG", "MRR, other images"),
    ]
    assert table[1] == ["G-MLE"] + ["-"] * 7
    assert table[2] == ["G-DIS", "0.5123", "40.00", *"---", "0.6000", "0.5000"]
    assert len(table) == 3 and "image of another dialog" in head
    assert "NDCG is absent" not in head
    del found["ndcg"]
    assert "NDCG is absent" in page(study, results=results)
    assert "NDCG" not in page(study)
