"""A report, opened from disk."""

import pytest

from tensorboard_plugin_tfcap.report import write_report
from tests.tensorboard_plugin_tfcap.serving import write_curves

pytestmark = pytest.mark.browser
METHOD = "PSST Multinomial"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_report(folder / "report.html", write_curves(folder / "logs"))
    return f"file://{folder / 'report.html'}"


@pytest.fixture
def page(browser, path):
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(path)
    yield page
    page.close()
    assert not errors


def test_a_mark_shows_its_card(page):
    page.locator(".tf-0 .marks > *").first.hover()
    card = page.locator(".tf-card")
    assert card.locator("b").inner_text() == METHOD
    text = card.inner_text()
    assert "\u03bb = 0.001" in text and "2 of 2 seeds" in text
    page.get_by_role("heading", level=1).hover()
    assert card.count() == 0


def test_the_legend_hides_a_method_by_key_and_pointer(page):
    entry = page.locator(f'.tf-0 .legend[data-m="{METHOD}"]')
    marks = page.locator(f'.tf-0 .marks[data-m="{METHOD}"]')
    said = page.locator("#tf-view .tf-hidden")
    entry.focus()
    page.keyboard.press("Enter")
    assert not marks.first.is_visible() and said.is_visible()
    assert entry.get_attribute("aria-pressed") == "false"
    entry.click()
    assert marks.first.is_visible() and not said.is_visible()


def test_tables_follow_the_figure(page):
    view = page.locator("#tf-view")
    choice = page.get_by_label("Figure", exact=True)
    before = view.inner_text()
    page.locator(f'.tf-0 .legend[data-m="{METHOD}"]').click()
    choice.select_option(label="recall@10 against BLEU-4")
    assert "at BLEU-4 =" in view.inner_text()
    assert "at CIDEr-D =" not in view.inner_text()
    marks = page.locator(f'.tf-0 .marks[data-m="{METHOD}"]')
    assert not marks.first.is_visible()
    page.locator(f'.tf-0 .legend[data-m="{METHOD}"]').click()
    choice.select_option(index=0)
    assert view.inner_text() == before and marks.first.is_visible()


@pytest.mark.parametrize("width, shown", [(1280, 0), (700, 1), (390, 2)])
def test_narrow_windows_have_a_drawing_of_their_own(page, width, shown):
    page.set_viewport_size({"width": width, "height": 900})
    for place in range(3):
        drawing = page.locator(f"#tf-view .tf-{place}")
        assert drawing.is_visible() == (place == shown)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_paper_is_that_of_the_system(page):
    paper = "getComputedStyle(document.querySelector('.tf-0 rect')).fill"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(paper) == "rgb(31, 35, 40)"
