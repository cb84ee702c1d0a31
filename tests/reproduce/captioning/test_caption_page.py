import dataclasses
import re

import numpy as np
import pytest

from reproduce.captioning.caption_page import write_caption_page
from tfcap.training import SpeakerReport

IMAGES = 40


def report(says="a dog", rank=1.0, **changes):
    """The same of every image; image 3 is silent about."""
    captions = [says] * IMAGES
    captions[3] = ""
    made = SpeakerReport(
        scores={"cider_d": 0.4567, "r@1": 12.0, "r@10": 50.0},
        image_ids=[100 + i for i in range(IMAGES)],
        captions=captions,
        references=[["A <b>dog</b>.", f"one & {i}"] for i in range(IMAGES)],
        ranks=np.full(IMAGES, rank),
        human_ranks=np.full(IMAGES, 7.5),
        each={},
        absent={},
    )
    return dataclasses.replace(made, **changes)


@pytest.fixture
def page(tmp_path):
    def make(reports, **arguments):
        path = tmp_path / "page.html"
        write_caption_page(path, reports, **arguments)
        return path.read_text(encoding="utf-8")

    return make


def numbers(text):
    return list(map(int, re.findall(r">image (\d+)<", text)))


def rows(text, name):
    """Caption and rank of each line of a method."""
    return re.findall(
        rf'<td>{name}</td><td>(.*?)</td><td class="rank">(.*?)</td>', text
    )


def test_every_method_has_a_caption_and_a_rank(page):
    reports = {"mle": report(), "psst": report("a cat", 1234.0)}
    text = page(reports, rows=[5])
    ((mle, first),) = rows(text, "mle")
    assert mle == "a dog" and "\u2713" in first and first.endswith("1")
    assert rows(text, "psst") == [("a <mark>cat</mark>", "1,234")]
    ((human, rank),) = rows(text, "human")
    assert human == "A &lt;b&gt;dog&lt;/b&gt;." and rank == "7.5"
    assert "<li>one &amp; 5</li>" in text
    assert "among all 40" in text and "by the listener of mle" in text


def test_words_that_the_first_method_does_not_say_are_marked(page):
    reports = {
        "mle": report("a dog on the grass"),
        "psst": report("a big brown dog on the red grass &"),
    }
    ((said, _),) = rows(page(reports, rows=[0]), "psst")
    assert said == (
        "a <mark>big brown</mark> dog on the <mark>red</mark> grass "
        "<mark>&amp;</mark>"
    )


def test_images_are_drawn_by_chance_each_once_and_again_the_same(page):
    reports = {"mle": report()}
    drawn = numbers(page(reports))
    assert len(set(drawn)) == 12 and drawn == sorted(drawn)
    assert numbers(page(reports)) == drawn
    assert numbers(page(reports, seed=1)) != drawn
    assert numbers(page(reports, count=99)) == report().image_ids
    assert numbers(page(reports, rows=[9, 2])) == [109, 102]


def test_pictures_and_names_are_those_of_the_rows(page):
    shown = []

    def images(row):
        shown.append(row)
        return None if row == 2 else np.zeros((4, 4, 3), "uint8")

    names = [f"photo-{i}<.jpg" for i in range(IMAGES)]
    text = page({"a": report()}, images=images, filenames=names, rows=[2, 8])
    assert shown == [2, 8]
    assert text.count("<img") == 1 and 'alt="image 108"' in text
    assert "photo-2&lt;.jpg" in text and "photo-8&lt;.jpg" in text
    assert "<img" not in page({"a": report()}, rows=[2, 8])
    images.filenames = names
    assert page({"a": report()}, images=images, rows=[2, 8]) == text


def test_scores_of_all_images_stand_above(page):
    lacking = report(scores={"cider_d": 0.5, "r@10": 60.0})
    text = page({"a": report(), "b": lacking}, rows=[1])
    assert "<tr><td>a</td><td>0.457</td><td>50.0</td></tr>" in text
    assert "<tr><td>b</td><td>0.500</td><td>60.0</td></tr>" in text
    assert "R@10" in text and "R@1<" not in text


def test_silence_and_unheard_people_are_told(page):
    silent = report(human_ranks=np.full(IMAGES, np.nan))
    text = page({"a": silent}, rows=[3])
    assert rows(text, "a")[0][0] == "<i>(says nothing)</i>"
    assert rows(text, "human")[0][1] == "-"


def test_names_and_notes_are_escaped(page):
    text = page({"<rho>": report(), "b": report()}, note="1 < 2", rows=[0])
    assert "<rho>" not in text and "&lt;rho&gt;" in text
    assert "<p>1 &lt; 2</p>" in text
    assert "<h1>What &lt;rho&gt; and b say</h1>" in text
    assert "<h1>Mine</h1>" in page({"a": report()}, title="Mine", rows=[0])


def test_reports_of_different_images_are_refused(page):
    other = report(image_ids=list(range(IMAGES)))
    with pytest.raises(ValueError, match="40 images of 'a', 40 of 'b', and"):
        page({"a": report(), "b": other})
    with pytest.raises(ValueError, match="one method at least"):
        page({})
