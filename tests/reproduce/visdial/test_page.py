import re

import numpy as np
import pytest

from reproduce.visdial import DialogData
from reproduce.visdial import sample_table
from reproduce.visdial import write_page
from reproduce.visdial.settings import PUBLISHED
from tests import dialogs


class Study:
    """Says what a test wants to see on the page."""

    settings = PUBLISHED

    def __init__(self, mle="a", dis="a", images=lambda row: None):
        test = dialogs.encoded()
        splits, features = [test] * 3, [dialogs.features()] * 3
        self.data = DialogData(
            *splits, *features, name="<real> data", test_images=images
        )
        self.said = {"hciae_g_mle": mle, "hciae_g_dis": dis}

    def answers(self, row, limit):
        return [self.said[row]] * (limit * self.data.test.rounds)


@pytest.fixture
def page(tmp_path):
    def make(study, **arguments):
        path = tmp_path / "page.html"
        write_page(path, study, **arguments)
        return path.read_text(encoding="utf-8")

    return make


def test_pictures_are_in_the_page_itself(page):
    shown = []

    def picture(row):
        shown.append(row)
        return np.zeros((8, 6, 3), "uint8")

    text = page(Study(images=picture), dialogs=3)
    assert text.count('src="data:image/png;base64,') == 3
    assert shown == [0, 1, 2]
    assert not re.search(r"https?:|<script|<link|@import|url\(", text)


def test_all_dialogs_are_there_without_rounds_that_are_absent(page):
    study = Study(mle="")
    text = page(study, rows=["hciae_g_mle"], dialogs=100)
    assert "<img" not in text and text.count("<article>") == 8
    there = int((study.data.test.question_index >= 0).sum())
    assert text.count("(empty)") == there < 8 * study.data.test.rounds


def test_text_is_escaped(page):
    text = page(Study("<b>&", "<unk>"), note="1 < 2")
    assert "<b>" not in text and "&lt;b&gt;&amp;" in text
    assert "&lt;unk&gt;" in text and "1 &lt; 2" in text
    assert "&lt;real&gt; data" in text and "<real>" not in text


def test_signs_tell_what_differs_and_what_is_as_the_human_answered(page):
    test = dialogs.encoded()
    rounds = int((test.question_index[:2] >= 0).sum())
    truth = test.vocabulary.decode(test.answer(np.array([1]))[0, 0])
    text = page(Study(truth, "horse"), dialogs=2)
    assert text.count("<mark>\u2260&nbsp;horse</mark>") == rounds
    assert "differs from G-MLE" in text
    assert f'{truth}&nbsp;<span title="as the human">\u2713' in text
    assert "<mark>" not in page(Study("zebra", "zebra"), dialogs=2)


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_samples_of_other_noise_stand_side_by_side():
    study, asked = Study(), []

    def answers(row, decoder=None, limit=None):
        asked.append((row, decoder))
        return [f"{len(asked)} {i}" for i in range(3 * limit)]

    study.answers = answers
    lines = sample_table(study, dialogs=2).splitlines()
    rows, decoders = zip(*asked)
    assert rows == ("hciae_g_mle", *["hciae_g_dis"] * 3)
    assert [d and d.channel.seed for d in decoders] == [None, 1, 2, 3]
    head = ["G-MLE", "G-DIS (z1)", "G-DIS (z2)", "G-DIS (z3)"]
    assert cells(lines[2])[2:] == head
    # The first dialog has two rounds, the second three.
    places = [cells(line)[2] for line in lines[4:]]
    assert places == ["1 0", "1 1", "1 4", "1 5"]
    test = study.data.test
    truth = test.answer(np.array([1]))[0, 2]
    assert cells(lines[-1])[1] == test.vocabulary.decode(truth)
