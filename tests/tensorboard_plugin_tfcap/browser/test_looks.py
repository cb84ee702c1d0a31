"""Names, focus and aggregates, in one visit."""

import pytest

pytestmark = pytest.mark.browser
CURVES = (
    "() => document.querySelector('.plot').data"
    ".filter((t) => t.meta?.kind === 'curve')"
)
#: Boxes of names, and of the marks of what is drawn.
BOXES = """() => {
  const boxes = (all) => [...document.querySelectorAll(all)]
    .map((one) => one.getBoundingClientRect().toJSON());
  return [boxes(".annotation-text-g"), boxes(".points path.point")];
}"""


def meet(one, other):
    return (
        one["left"] < other["right"] - 2
        and other["left"] < one["right"] - 2
        and one["top"] < other["bottom"] - 2
        and other["top"] < one["bottom"] - 2
    )


def test_names_focus_and_aggregates(view, sweep):
    view.open(sweep)
    methods = [mark["name"] for mark in view.marks()]
    view.frame.wait_for_selector(".annotation-text-g", state="attached")
    names, marks = view.frame.evaluate(BOXES)
    assert len(names) == len(methods)
    for place, name in enumerate(names):
        assert not any(meet(name, box) for box in names[place + 1 :] + marks)
    # While a method is pointed at, others stand back; a click on its name
    # grays them.
    view.frame.locator(".methods li").first.hover()
    faded = "[...document.querySelectorAll('.plot g.trace')].filter("
    view.wait(f"() => {faded}(t) => t.style.opacity === '0.12').length > 3")
    view.frame.locator(".annotation-text-g").first.click(force=True)
    view.wait(f"() => ({CURVES})()[1].line.color === '#c3c9cf'")
    view.wait(
        "() => document.querySelectorAll('.annotation-text-g').length === 1"
    )
    view.frame.get_by_role("button", name="All in color").click()
    view.wait(f"() => ({CURVES})()[1].line.color !== '#c3c9cf'")
    # A center, which figure and tables follow.
    view.frame.get_by_label("Center").select_option("median")
    view.wait(
        "() => document.querySelector('.pair .notes').innerText"
        ".startsWith('Medians over seeds')"
    )
    view.frame.get_by_label("Level", exact=True).select_option("0.8")
    view.wait(
        "() => document.querySelector('.pair .notes').innerText"
        ".includes('80 % interval of the median by the percentile bootstrap')"
    )
    for word in ("center=median", "level=0.8"):
        assert word in view.page.url


def test_a_narrow_window_shows_the_figure_and_offers_a_level(view, sweep):
    view.page.set_viewport_size({"width": 390, "height": 844})
    view.open(sweep, x="cider_d", y="r@10", along="x", value="1.2")
    assert view.frame.locator(".stage").bounding_box()["y"] < 250
    assert not view.frame.locator(".side").is_visible()
    view.frame.get_by_role("button", name="Controls").click()
    assert view.frame.get_by_label("Vertical").is_visible()
    view.frame.get_by_role("button", name="Controls").click()
    # No curve goes to 1.2; where one is taken that is reached, there is one.
    assert "No curve goes to CIDEr-D = 1.2" in view.text(".notice p")
    view.frame.locator(".notice button").first.click()
    view.wait("() => document.querySelector('.pair b') !== null")
    fits = "document.querySelector('.main')"
    assert view.frame.evaluate(f"() => {fits}.scrollWidth <= innerWidth")
