"""What can be taken away."""

import xml.dom.minidom

import pytest

from tests.tensorboard_plugin_tfcap.browser import servers

pytestmark = pytest.mark.browser


def saved(view, item):
    view.frame.get_by_role("button", name="Export").click()
    with view.page.expect_download() as found:
        view.frame.get_by_role("menuitem", name=item).click()
    with open(found.value.path(), "rb") as file:
        return found.value.suggested_filename, file.read()


def test_the_figure_is_saved_with_its_legend(view, sweep):
    view.open(sweep, query="?darkMode=true")
    name, data = saved(view, "Figure as SVG")
    assert name == "tradeoff-r_10-cider_d.svg"
    text = data.decode()
    assert xml.dom.minidom.parseString(text).documentElement.tagName == "svg"
    for word in ("PSST Multinomial", "Luo et al. 2018", "CIDEr-D"):
        assert word in text
    name, data = saved(view, "Figure as PNG")
    assert data.startswith(b"\x89PNG") and len(data) > 10_000


def test_points_are_saved(view, sweep):
    view.open(sweep)
    name, data = saved(view, "Points as CSV")
    head, *rows = data.decode().splitlines()
    assert name.endswith(".csv") and head.startswith("method,")
    # One for each seed and point.
    assert len(rows) == len(servers.sweep_records())


def test_the_link_of_a_view_is_copied(view, sweep):
    view.open(sweep, x="bleu_4")
    view.frame.get_by_role("button", name="Export").click()
    view.frame.get_by_role("menuitem", name="Copy a link").click()
    view.frame.get_by_role("menuitem", name="Copied").wait_for()
    found = view.frame.evaluate("() => navigator.clipboard.readText()")
    assert found == view.page.url
