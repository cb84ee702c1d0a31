"""For the keyboard and for screen readers."""

import os
import pathlib

import pytest

from tests.tensorboard_plugin_tfcap.browser import servers

pytestmark = pytest.mark.browser
#: `npm install --no-save axe-core`, or the folder of one that is elsewhere.
AXE = pathlib.Path(
    os.environ.get("AXE_CORE") or servers.ROOT / "node_modules" / "axe-core"
)


def faults(view):
    """What axe-core finds, as sentences."""
    path = AXE / "axe.min.js"
    if not path.is_file():
        pytest.skip("needs axe-core: npm install --no-save axe-core")
    view.frame.evaluate(path.read_text())
    found = view.frame.evaluate("async () => (await axe.run()).violations")
    return [
        f"{one['id']}: {one['help']}: {node['html'][:200]}"
        for one in found
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("query", ["", "?darkMode=true"])
def test_axe_finds_nothing(view, sweep, query):
    view.open(sweep, query=query, pareto="1", at="best")
    view.frame.locator(".stage").focus()
    for key in ("ArrowRight", "Enter", "ArrowDown", "Enter"):
        view.page.keyboard.press(key)
    view.frame.wait_for_selector(".said.two .badge")
    view.frame.locator("summary", has_text="as a table").click()
    view.frame.wait_for_selector("details[open] table")
    assert faults(view) == []
    view.filter("zzz")
    view.frame.wait_for_selector(".state")
    assert faults(view) == []


def test_the_keyboard_walks_from_point_to_point(view, sweep):
    view.open(sweep)
    view.frame.locator(".stage").focus()
    view.page.keyboard.press("ArrowRight")
    first = view.text("#announcer")
    assert first.startswith("PSST Multinomial") and "CIDEr-D" in first
    view.page.keyboard.press("ArrowRight")
    assert view.text("#announcer") != first
    view.page.keyboard.press("ArrowDown")
    assert not view.text("#announcer").startswith("PSST")
    view.frame.wait_for_selector(".hoverlayer .hovertext", state="attached")
    view.page.keyboard.press("Escape")
    view.wait("() => !document.querySelector('.hoverlayer .hovertext')")


def test_the_table_says_what_the_figure_does_and_pins(view, sweep):
    view.open(sweep)
    view.frame.locator("summary", has_text="as a table").click()
    rows = view.frame.locator("details table tbody tr")
    rows.first.wait_for()
    assert rows.count() == sum(len(mark["x"]) for mark in view.marks())
    rows.first.get_by_role("button", name="Pin").click()
    view.frame.wait_for_selector(".pin")
    assert rows.first.get_by_role("button").inner_text() == "Unpin"


def test_a_phone_can_be_turned(view, sweep):
    view.page.set_viewport_size({"width": 900, "height": 700})
    view.open(sweep)
    wide = "() => document.querySelector('.plot svg').clientWidth"
    before = view.frame.evaluate(wide)
    view.page.set_viewport_size({"width": 1300, "height": 700})
    view.wait(f"(old) => ({wide})() > old + 200", before)
    assert view.frame.evaluate(
        "() => document.querySelector('.main').scrollWidth"
        " <= document.querySelector('.main').clientWidth"
    )


def test_the_keyboard_keeps_its_place_where_things_are_made_anew(view, sweep):
    view.open(sweep)
    view.frame.locator("summary", has_text="as a table").click()
    view.frame.locator(".scroll.tall button").last.focus()
    where = (
        "() => [document.querySelector('.scroll.tall').scrollTop,"
        " document.activeElement.dataset.key, document.activeElement.innerText]"
    )
    top, key, _ = view.frame.evaluate(where)
    view.page.keyboard.press("Enter")
    view.frame.wait_for_selector(".pin")
    assert view.frame.evaluate(where) == [top, key, "Unpin"] and top > 0
