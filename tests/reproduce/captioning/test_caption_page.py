import dataclasses
import re

import numpy as np
import pytest

from reproduce.captioning.caption_page import write_caption_page
from tfcap.training import SpeakerReport


def report(says="a dog", rank=1.0, count=2, **changes):
    """The same of every image."""
    made = SpeakerReport(
        scores={},
        image_ids=[100 + i for i in range(count)],
        captions=[says] * count,
        references=[["A <b>dog</b>.", f"one & {i}"] for i in range(count)],
        ranks=np.full(count, rank),
        human_ranks=np.full(count, 7.5),
        each={},
        absent={},
    )
    return dataclasses.replace(made, **changes)


@pytest.fixture
def page(tmp_path):
    def make(reports, *images, **options):
        path = tmp_path / "page.html"
        write_caption_page(path, reports, *images, **options)
        return path.read_text(encoding="utf-8")

    return make


def rows(text, name):
    """Caption and rank of each line of a method."""
    return re.findall(
        rf'<td>{name}</td><td>(.*?)</td><td class="rank">(.*?)</td>', text
    )


def test_every_method_has_a_caption_and_a_rank(page):
    reports = {"mle": report(), "psst": report("a cat", 1234.0)}
    text = page(reports, note="1 < 2")
    assert "<p>1 &lt; 2</p>" in text
    mle, first = rows(text, "mle")[1]
    assert mle == "a dog" and "\u2713" in first and first.endswith("1")
    assert rows(text, "psst")[1] == ("a <mark>cat</mark>", "1,234")
    human, rank = rows(text, "human")[1]
    assert human == "A &lt;b&gt;dog&lt;/b&gt;." and rank == "7.5"
    assert "among all 2" in text and "by the listener of mle" in text


def test_words_that_the_first_method_does_not_say_are_marked(page):
    said = "a big brown dog on the red grass &"
    text = page({"<b>": report("a dog on the grass"), "psst": report(said)})
    assert rows(text, "psst")[0][0] == (
        "a <mark>big brown</mark> dog on the <mark>red</mark> grass "
        "<mark>&amp;</mark>"
    )
    assert "<b>" not in text
    assert "<h1>Captions of &lt;b&gt; and psst</h1>" in text


def test_a_dozen_images_are_drawn_by_chance_each_once(page):
    numbers = re.findall(r">image (\d+)<", page({"mle": report(count=40)}))
    drawn = list(map(int, numbers))
    assert len(set(drawn)) == 12 and drawn == sorted(drawn)
    assert drawn != list(range(drawn[0], drawn[0] + 12))


def test_pictures_and_names_are_those_of_the_rows(page):
    def images(row):
        return None if row else np.zeros((4, 4, 3), "uint8")

    text = page({"a": report()}, images)
    assert text.count("<img") == 1 and 'alt="image 100"' in text
    images.filenames = ["photo-0<.jpg", "photo-1.jpg"]
    text = page({"a": report()}, images)
    assert "photo-0&lt;.jpg" in text and "photo-1.jpg" in text
    assert "<img" not in page({"a": report()})


def test_silence_and_unheard_people_are_told(page):
    text = page({"a": report("", human_ranks=np.full(2, np.nan))})
    assert rows(text, "a")[0][0] == "<i>(empty)</i>"
    assert rows(text, "human")[0][1] == "-"
