"""Pinned points."""

import pytest

pytestmark = pytest.mark.browser


def pin_two(view):
    view.frame.locator(".stage").focus()
    for key in ("ArrowRight", "Enter", "ArrowDown", "Enter"):
        view.page.keyboard.press(key)
    view.frame.wait_for_selector(".said.two .badge")


def test_a_click_pins_a_point_with_its_words_and_pictures(view, sweep):
    view.open(sweep)
    view.page.mouse.click(*view.place(3))
    view.frame.wait_for_selector(".pin")
    assert "PSST Multinomial" in view.text(".pin h3")
    view.wait("() => document.querySelectorAll('.rows > li').length === 8")
    assert "<b>a dog</b> 0 by psst" in view.text(".said p")
    assert "rank 1" in view.text(".rank")
    # What is false is underlined, said to screen readers, and told below.
    wrong = view.frame.locator(".said .false").first
    assert wrong.text_content() == "ial (false)"
    assert wrong.get_attribute("title") == "False: <i>"
    line = wrong.evaluate("(node) => getComputedStyle(node).textDecoration")
    assert "wavy" in line
    said = view.text(".said")
    assert "1 of 2 claims true. False: <i>" in said and "1 missing" in said
    view.wait("() => document.querySelector('.rows img').naturalWidth > 0")
    view.button("Next").click()
    view.wait("() => document.querySelectorAll('.rows > li').length === 4")


def test_two_pinned_points_stand_side_by_side_image_by_image(view, sweep):
    view.open(sweep)
    pin_two(view)
    assert view.count(".pin") == 2
    said = view.frame.locator(".rows > li").first.inner_text()
    assert "by psst_multinomial" in said and "by st_multinomial" in said
    assert view.count(".ring.pinned:not([hidden])") == 2
    view.button("Unpin PSST Multinomial").click()
    view.wait("() => document.querySelectorAll('.pin').length === 1")


def test_pins_survive_a_reload(view, sweep):
    view.open(sweep)
    pin_two(view)
    view.page.reload()
    view.enter()
    view.frame.wait_for_selector(".said.two .badge")
    assert view.count(".pin") == 2


def test_captions_are_asked_for_once_a_revision(view, sweep):
    view.open(sweep)
    asked = view.frame.evaluate(
        """async () => {
          const { getJson, getSamples } = await import("./static/api.js");
          const { runs: [{ run }] } = await getJson("state");
          const { fetch } = window;
          let asked = 0;
          window.fetch = (...all) => (asked += 1, fetch(...all));
          // A run that was deleted, and trained again, says something else.
          for (const rev of ["a", "a", "b"]) await getSamples(run, 4, 0, rev);
          window.fetch = fetch;
          return asked;
        }"""
    )
    assert asked == 2


def test_the_first_pinned_stays_when_a_third_comes(view, sweep):
    view.open(sweep)
    pin_two(view)
    view.page.mouse.click(*view.place(2))
    view.wait(
        "() => !document.querySelectorAll('.pin h3')[1]"
        ".innerText.startsWith('ST')"
    )
    assert view.count(".pin") == 2
