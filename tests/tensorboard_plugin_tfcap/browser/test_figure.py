"""The figure, on a real sweep's log."""

import pytest

from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tensorboard_plugin_tfcap.summary import write_references
from tests.tensorboard_plugin_tfcap.browser import servers
from tests.tensorboard_plugin_tfcap.browser.conftest import ENTRY

pytestmark = pytest.mark.browser
#: Names of methods that browsers must not read as HTML.
ODD = ('<a href="https://evil.example">ours</a>', "R&amp;D", "a<b>bold</b>")


def test_the_tab_shows_a_curve_for_each_method(view, sweep):
    view.open(sweep, inside=True)
    assert view.page.locator('[role="tab"]', has_text="Trade-off").count() == 1
    names = view.names()
    assert names[:2] == ["PSST Multinomial", "ST Multinomial"]
    assert view.text("h2") == "recall@10 against CIDEr-D"
    count = len(servers.sweep_records())
    assert view.text(".status").startswith(f"{count} runs")


def test_axes_change_and_stay_in_the_address(view, sweep):
    view.open(sweep)
    before = view.marks()
    view.frame.get_by_label("Vertical").select_option("mean_rank")
    view.titled("mean")
    assert view.marks()[0]["y"] != before[0]["y"]
    assert view.marks()[0]["x"] == before[0]["x"]
    assert "p.tfcap_tradeoff.y=mean_rank" in view.page.url
    view.button("Swap axes").click()
    view.titled("CIDEr-D against mean rank")
    # What is drawn is what is shown: every mark, within the axes.
    count = sum(len(mark["x"]) for mark in view.marks())
    view.wait(
        "(count) => [...document.querySelectorAll('.points path.point')]"
        ".filter((mark) => mark.checkVisibility()).length >= count",
        count,
    )


def test_figure_3_is_small_multiples(view, sweep):
    view.open(sweep)
    view.button("Figure 3").click()
    view.wait(
        "() => new Set(document.querySelector('.plot').data"
        ".map((t) => t.xaxis)).size > 2"
    )
    assert "preset=fig3" in view.page.url
    # A pair of axes, by one click, and a line across it as ever.
    pair = view.button("Completeness against corr")
    pair.click()
    view.titled("recall of facts against precision of claims")
    assert pair.get_attribute("aria-pressed") == "true"
    assert "preset=" not in view.page.url


def test_hovering_tells_of_a_point_and_shows_markup_as_text(view, sweep):
    view.open(sweep)
    view.page.mouse.move(*view.place(0))
    card = ".plot .hoverlayer .hovertext"
    view.frame.wait_for_selector(card, state="attached")
    text = view.frame.locator(card).first.text_content()
    assert "PSST Multinomial" in text and "\u03bb = " in text
    assert "recall@10" in text
    view.page.mouse.click(*view.place(0))
    view.frame.wait_for_selector(".rows img")
    assert "<b>a dog</b>" in view.text(".said p")
    assert view.frame.evaluate("() => window.hacked") is None


def test_the_filter_keeps_what_matches(view, sweep):
    view.open(sweep)
    view.filter("psst.*seed=[01]$")
    view.wait(
        "() => new Set(document.querySelector('.plot').data"
        ".filter((t) => t.meta?.kind === 'curve').map((t) => t.name))"
        ".size === 1"
    )
    count = len(servers.sweep_records())
    assert view.text("#run-filter-hint") == f"8 of {count} runs shown"
    view.filter("zzz")
    view.button("Show all runs").click()
    view.wait("() => !document.querySelector('.state')?.checkVisibility()")
    assert len(view.marks()) == 5


def test_a_filter_that_is_none_is_told_of_and_the_figure_stays(view, sweep):
    view.open(sweep, runs="((")
    assert "regular expression" in view.text("[role=alert]")
    view.filter("")
    view.wait("() => document.querySelector('.plot').data?.length > 3")
    view.filter("((")
    view.frame.wait_for_selector(".notice.bad")
    assert len(view.marks()) == 5


def test_seeds_front_and_published_points_can_be_shown(view, sweep):
    view.open(sweep)
    kinds = (
        "() => document.querySelector('.plot').data.map((t) => t.meta?.kind)"
    )
    assert "seed" in view.frame.evaluate(kinds)
    view.frame.locator("label", has_text="Interval").click()
    view.wait(f"() => !({kinds})().includes('seed')")
    view.frame.locator("label", has_text="Band").click()
    view.wait(f"() => ({kinds})().includes('band')")
    view.frame.get_by_label("Pareto front").check()
    view.wait(f"() => ({kinds})().includes('pareto')")
    view.frame.get_by_label("Published points").check()
    view.wait(f"() => ({kinds})().includes('reference')")
    for word in ("seeds=band", "pareto=1", "refs=1"):
        assert word in view.page.url


def test_a_method_is_hidden_by_the_legend_and_by_its_box(view, sweep):
    view.open(sweep)
    view.frame.get_by_label("PSST Multinomial").first.uncheck()
    view.wait(
        "() => document.querySelector('.plot').data.some((t) =>"
        " t.visible === 'legendonly')"
    )
    assert "p.tfcap_tradeoff.hide=PSST" in view.page.url
    view.frame.locator(".plot .legendtoggle").first.click(force=True)
    view.wait(
        "() => document.querySelector('.plot').data.every((t) =>"
        " t.visible !== 'legendonly')"
    )


@pytest.fixture(scope="module")
def odd(browser, tmp_path_factory):
    """The address of a TensorBoard whose methods look like HTML."""
    folder = tmp_path_factory.mktemp("odd")
    for place, name in enumerate(ODD):
        with TradeoffWriter(folder / f"m{place}", name) as writer:
            writer.point(1, {"acc<5>": 0.5 + place / 10, "r@10": 60.0})
    references = [{"title": "a", "metrics": {"acc<5>": 0.7, "r@10": 80.0}}]
    write_references(folder / "refs", references)
    with servers.serve(folder) as address:
        servers.wait_for_runs(address, len(ODD))
        yield address


def test_no_name_is_html(view, odd):
    view.open(odd, x="acc<5>", y="r@10", refs="1")
    texts = view.frame.locator(".plot .legendtext").all_text_contents()
    assert texts == sorted(ODD) + ["published"]
    title = view.frame.locator(".plot .xtitle").text_content()
    assert title.startswith("acc<5>")
    assert view.count(".plot a") == 0
    # Published points are hidden like any method.
    view.frame.locator(".plot .legendtoggle").last.click(force=True)
    view.wait(
        "() => document.querySelector('.plot').data.some((t) =>"
        " t.name === 'published' && t.visible === 'legendonly')"
    )
    assert "hide=published" in view.page.url


def test_what_fails_once_is_asked_for_again(view, odd):
    view.page.route("**/plotly.js*", lambda route: route.abort())
    view.page.goto(f"{odd}/data/{ENTRY}")
    view.find()
    again = view.button("Try again")
    again.wait_for()
    view.page.unroute("**/plotly.js*")
    again.click()
    view.wait("() => document.querySelector('.plot').data?.length > 1")
    assert view.count(".notice.bad") == 0
    view.page.route("**/samples?*", lambda r: r.fulfill(status=500))
    # The table is open since there was no figure.
    view.button("Pin").first.click()
    view.frame.get_by_text("answered with an error").wait_for()
    view.page.unroute("**/samples?*")
    view.button("Unpin").first.click()
    view.button("Pin").first.click()
    view.frame.get_by_text("No samples were logged").wait_for()


def test_of_very_many_methods_one_is_in_focus(view, sweep):
    view.open(sweep)
    found = view.frame.evaluate(
        "async () => { const {Methods} = await import(new URL("
        "'./static/methods.js', document.baseURI)); const sets = [];"
        "const state = {get: () => '', hidden: () => new Set(),"
        " set: (changes) => sets.push(changes)};"
        "for (const count of [3, 2000]) { const all = Array.from("
        "{length: count}, (_, i) => ({method: `a long name of ${i}`}));"
        "Methods.prototype.alone.call({state}, all[0].method, all); }"
        "return sets; }"
    )
    assert found == [
        {"hide": "a long name of 1\na long name of 2"},
        {"focus": "a long name of 0"},
    ]
