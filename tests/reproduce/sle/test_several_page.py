import numpy as np
import pytest

from reproduce.sle.several_page import write_several_page

HUMAN = [["A dog & a cat.", "one <b>dog</b>"]] * 5


@pytest.fixture
def page(tmp_path):
    def make(several, human=HUMAN, **options):
        path = tmp_path / "page.html"
        write_several_page(path, several, human, **options)
        return path.read_text(encoding="utf-8")

    return make


def test_captions_that_are_alike_are_counted(page):
    said = [["a dog", "a cat", "a dog", "a dog"]] * 5
    text = page({"sll": said}, count=1)
    assert text.count("<article>") == 1
    assert text.count("<li>a dog") == 1 and "\u00d7\u20093" in text
    assert "<li>a cat</li>" in text


def test_what_people_and_speakers_say_is_escaped(page):
    text = page({"<sll>": [["a & b", ""]] * 5}, count=1, note="a < b")
    for shown in ("A dog &amp; a cat.", "&lt;b&gt;", "&lt;sll&gt;", "a &lt; b"):
        assert shown in text
    assert "(says nothing)" in text


def test_images_are_shown_where_there_are_pixels(page):
    def images(row):
        return np.zeros((4, 4, 3), "uint8")

    several = {"sll": [["a", "b"]] * 5}
    assert page(several, images=images).count("<img") == 5
    images.filenames = [f"{row}&.jpg" for row in range(5)]
    assert "image 3</span>3&amp;.jpg" in page(several, images=images)
    assert page(several, images=lambda row: None).count("<img") == 0
    assert page(several, seed=1, count=2) == page(several, seed=1, count=2)


def test_speakers_of_other_images_are_refused(page):
    with pytest.raises(ValueError, match="2 lists of 'sll' for 5 images"):
        page({"sll": [["a"]] * 2})
    with pytest.raises(ValueError, match="one speaker at least"):
        page({})
