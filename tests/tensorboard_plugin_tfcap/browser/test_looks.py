"""Names, focus and aggregates, in one visit."""

import itertools

import pytest

pytestmark = pytest.mark.browser
CURVES = (
    "() => document.querySelector('.plot').data"
    ".filter((t) => t.meta?.kind === 'curve')"
)
#: Boxes of names, of the marks of what is drawn, and of their labels.
BOXES = """() => {
  const boxes = (all) => [...document.querySelectorAll(all)]
    .filter((one) => one.style.visibility !== "hidden")
    .map((one) => one.getBoundingClientRect().toJSON());
  return [".annotation-text-g", ".points path.point", ".textpoint text"]
    .map(boxes);
}"""


def meet(one, other, least=2):
    """Check whether boxes share more than some pixels each way."""
    return (
        one["left"] < other["right"] - least
        and other["left"] < one["right"] - least
        and one["top"] < other["bottom"] - least
        and other["top"] < one["bottom"] - least
    )


def test_names_focus_and_aggregates(view, sweep):
    view.open(sweep)
    methods = view.names()
    view.frame.wait_for_selector(".annotation-text-g", state="attached")
    names, marks, labels = view.frame.evaluate(BOXES)
    # Letters do not fill their boxes.
    pairs = itertools.combinations(labels, 2)
    assert len(labels) > 5 and not any(meet(*pair, 4) for pair in pairs)
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
    view.button("All in color").click()
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
    view.button("Controls").click()
    assert view.frame.get_by_label("Vertical").is_visible()
    view.button("Controls").click()
    # No curve reaches 1.2; at a level that is reached, there is a table.
    assert "No curve reaches CIDEr-D = 1.2" in view.text(".notice p")
    view.frame.locator(".notice button").first.click()
    view.wait("() => document.querySelector('.pair b') !== null")
    fits = "document.querySelector('.main')"
    assert view.frame.evaluate(f"() => {fits}.scrollWidth <= innerWidth")
