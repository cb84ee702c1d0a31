"""What can be taken away."""

import xml.dom.minidom

import pytest

from tests.tensorboard_plugin_tfcap.browser import servers

pytestmark = pytest.mark.browser


def saved(view, item):
    view.button("Export").click()
    with view.page.expect_download() as found:
        view.frame.get_by_role("menuitem", name=item).click()
    return content(found)


def content(found):
    with open(found.value.path(), "rb") as file:
        return found.value.suggested_filename, file.read()


def printed(view, *choices, **fields):
    """A file of the dialog, in which something is chosen and filled in."""
    view.button("Export").click()
    view.frame.get_by_role("menuitem", name="Figure as").click()
    dialog = view.frame.get_by_role("dialog")
    for text in choices:
        dialog.get_by_label(text, exact=True).check()
    for label, value in fields.items():
        dialog.get_by_label(label.replace("_", " ")).fill(value)
    with view.page.expect_download() as found:
        dialog.get_by_role("button", name="Save").click()
    return content(found)


def test_the_figure_is_saved_for_print(view, sweep):
    pytest.importorskip("matplotlib")
    view.open(sweep, query="?darkMode=true")
    name, data = printed(view, "SVG", Font_family="DejaVu Serif")
    assert name == "tradeoff-r_10-cider_d.svg"
    page = xml.dom.minidom.parseString(data).documentElement
    assert page.getAttribute("width") == "237.6pt"
    text = data.decode()
    for word in (
        "PSST Multinomial",
        "Luo et al. 2018",
        "CIDEr-D",
        "DejaVu Serif",
    ):
        assert word in text
    # On white, and with how to read it.
    assert "#1f2328" not in text and "their mean" in text
    _, data = printed(view, "Page, 6.9 in", "PNG", Font_size_in_points="10")
    assert data.startswith(b"\x89PNG") and len(data) > 10_000
    assert int.from_bytes(data[16:20]) == 2070
    name, data = printed(view, "PDF", Font_family="monospace")
    assert name.endswith(".pdf") and data.startswith(b"%PDF")


def test_points_are_saved(view, sweep):
    view.open(sweep)
    name, data = saved(view, "Points as CSV")
    head, *rows = data.decode().splitlines()
    assert name.endswith(".csv") and head.startswith("method,")
    # One for each seed and point.
    assert len(rows) == len(servers.sweep_records())


def test_the_link_of_a_view_is_copied(view, sweep):
    view.open(sweep, x="bleu_4")
    view.button("Export").click()
    view.frame.get_by_role("menuitem", name="Copy a link").click()
    view.frame.get_by_role("menuitem", name="Copied").wait_for()
    found = view.frame.evaluate("() => navigator.clipboard.readText()")
    assert found == view.page.url
