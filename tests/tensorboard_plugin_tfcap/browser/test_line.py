"""The line at a fixed value, and its tables."""

import pytest

pytestmark = pytest.mark.browser
HEADING = "() => document.querySelector('.pair h3').innerText"


def test_dragging_the_line_changes_its_tables_while_it_moves(view, sweep):
    view.open(sweep)
    before = view.text(".pair table")
    box = view.frame.locator(".guide").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 40
    view.page.mouse.move(x, y)
    view.page.mouse.down()
    view.page.mouse.move(x - 200, y, steps=8)
    view.wait(
        "(old) => document.querySelector('.pair table').innerText !== old",
        before,
    )
    assert "value=" not in view.page.url
    view.page.mouse.up()
    view.wait("() => parent.location.hash.includes('value=')")
    shown = view.text(".guide .grip")
    view.wait(
        f"(shown) => ({HEADING})().endsWith(`CIDEr-D = ${{shown}}`)", shown
    )


def test_the_keyboard_moves_the_line(view, sweep):
    view.open(sweep, value=0.3)
    line = view.frame.get_by_role("slider", name="Line at a fixed CIDEr-D")
    line.focus()
    before = float(line.get_attribute("aria-valuenow"))
    view.page.keyboard.press("ArrowRight")
    assert float(line.get_attribute("aria-valuenow")) > before
    view.wait("() => !parent.location.hash.includes('value=0.3&')")


def test_the_line_is_put_on_the_other_axis_and_away(view, sweep):
    view.open(sweep)
    box = view.frame.get_by_role("radiogroup", name="Line")
    box.locator("label", has_text="recall@10").click()
    view.wait(f"() => ({HEADING})().includes('recall@10 =')")
    assert view.count(".guide.along-y") == 1
    box.locator("label", has_text="Off").click()
    view.wait("() => !document.querySelector('.guide')")
    assert view.count(".pair table") == 0


def test_bold_is_the_best_and_beyond_a_curve_there_is_nothing(view, sweep):
    view.open(sweep, value=0.25)
    rows = view.frame.evaluate(
        "() => [...document.querySelector('.pair table tbody').rows].map((r) =>"
        " [r.cells[0].innerText.trim(), r.cells[1].innerText,"
        " !!r.cells[1].querySelector('b')])"
    )
    best = [name for name, _, bold in rows if bold]
    assert best == ["PSST Multinomial"]
    absent = {name for name, value, _ in rows if value == "\u2014"}
    assert "Luo et al. 2018" in absent


def test_tables_are_copied(view, sweep):
    view.open(sweep, value=0.3)
    for title, start in (
        ("Markdown", "|--"),
        ("LaTeX", "\\begin"),
        ("CSV", ","),
    ):
        view.button(f"Copy as {title}").first.click()
        view.wait(
            "(name) => [...document.querySelectorAll('.pair button')].some("
            "(b) => b.innerText === 'Copied' && b.ariaLabel === name)",
            f"Copy as {title}",
        )
        text = view.frame.evaluate("() => navigator.clipboard.readText()")
        assert start in text and "PSST Multinomial" in text


def test_the_ends_of_a_curve_are_on_it(view, sweep):
    # A third of its values: no number of digits is enough.
    asked = {"x": "truth_recall", "y": "cider_d", "value": 9}
    view.open(sweep, **asked, runs="reinforce.*seed%3D0%24")
    offer = view.frame.locator(".notice", has_text="No curve reaches")
    offer.get_by_role("button").click()
    offer.wait_for(state="hidden")
    line = view.frame.locator(".guide[role=slider]")
    for key in ("Home", "End"):
        before = line.get_attribute("aria-valuenow")
        line.focus()
        with view.page.expect_response("**/figure?*"):
            view.page.keyboard.press(key)
        assert line.get_attribute("aria-valuenow") != before
        view.wait("() => !document.querySelector('.stage.busy')")
        assert not offer.is_visible(), key
