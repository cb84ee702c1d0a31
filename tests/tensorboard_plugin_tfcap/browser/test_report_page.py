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


def drawn(page):
    page.locator("#tf-view .legend .traces").first.wait_for()


def marks(page):
    """Numbers of marks that are seen, by method."""
    return page.evaluate("""() => Object.fromEntries(
        document.querySelector(".plot").calcdata
          .filter(([{ trace }]) => trace.meta.kind === "curve")
          .map(([{ trace }]) =>
            [trace.legendgroup, trace.visible === true]))""")


def test_a_mark_shows_its_card(page):
    drawn(page)
    page.locator("#tf-view .points path.point").first.hover(force=True)
    text = page.locator(".hoverlayer .hovertext").first.text_content()
    assert METHOD in text and "\u03bb = 0.001" in text
    assert "CIDEr-D" in text


def test_the_legend_hides_a_method_by_key_and_pointer(page):
    drawn(page)
    entry = page.locator("#tf-view .legend .traces", has_text=METHOD)
    assert marks(page)[METHOD]
    entry.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "document.activeElement.getAttribute('aria-pressed') === 'false'"
    )
    assert not marks(page)[METHOD]
    entry.locator(".legendtoggle").click()
    page.wait_for_function(
        "document.querySelector('.traces').ariaPressed === 'true'"
    )
    assert marks(page)[METHOD]


def test_tables_follow_the_figure(page):
    view = page.locator("#tf-view")
    choice = page.get_by_label("Figure", exact=True)
    drawn(page)
    choice.select_option(label="recall@10 against BLEU-4")
    drawn(page)
    assert "at BLEU-4 =" in view.inner_text()
    assert "at CIDEr-D =" not in view.inner_text()
    choice.select_option(index=0)
    assert "at CIDEr-D =" in view.inner_text() and marks(page)[METHOD]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_figure_is_as_wide_as_the_window(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.reload()
    drawn(page)
    plot = page.locator("#tf-view .plot .main-svg").first.bounding_box()
    assert width / 2 < plot["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_paper_is_that_of_the_system(page):
    drawn(page)
    paper = "document.querySelector('.plot').layout.paper_bgcolor"
    assert page.evaluate(paper) == "#ffffff"
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{paper} === '#1f2328'")
