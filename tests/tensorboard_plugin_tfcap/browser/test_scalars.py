"""Logs of people who have never heard of trade-off points."""

import pytest

from tests.tensorboard_plugin_tfcap import strangers
from tests.tensorboard_plugin_tfcap.browser import servers

pytestmark = pytest.mark.browser
#: How many runs are said to be shown.
SHOWN = (
    "(text) => document.querySelector('#run-filter-hint').innerText"
    ".startsWith(text)"
)


@pytest.fixture(scope="module")
def scalars(browser, tmp_path_factory):
    """The address of a TensorBoard that has scalars alone."""
    folder = tmp_path_factory.mktemp("scalars")
    for method in ("adam", "sgd"):
        for rate in (1, 2, 3):
            for seed in (0, 1):
                values = {
                    "loss": [1 / (rate + step) for step in range(3)],
                    "speed": [rate * step + seed for step in range(3)],
                }
                run = folder / f"{method}-{rate}-{seed}"
                strangers.write_scalars(run, values)
    with servers.serve(folder) as address:
        yield address


def test_scalars_are_shown_where_there_are_no_points(view, scalars):
    # The tab is there, though TensorBoard counts the plugin as inactive.
    view.open(scalars, source="scalars")
    view.wait("() => document.querySelector('.plot')?.data?.length > 0")
    options = view.frame.get_by_label("Vertical").locator("option")
    assert {"loss", "speed"} <= {
        text.split()[0] for text in options.all_inner_texts()
    }
    assert view.text(".status").startswith("12 runs")


def test_runs_are_grouped_by_a_pattern_in_their_names(view, scalars):
    asked = {"x": "loss", "y": "speed", "focus": "adam-1-0"}
    view.open(scalars, source="scalars", **asked)
    view.frame.get_by_label("Group by").select_option("regex")
    pattern = r"(?P<method>\w+)-(?P<rate>\d)-(?P<seed>\d)"
    box = view.frame.get_by_label("Pattern")
    box.fill(pattern)
    box.press("Enter")
    view.wait(
        "() => [...document.querySelectorAll('.methods li')]"
        ".map((li) => li.innerText).join() === 'adam,sgd'"
    )
    assert [len(mark["x"]) for mark in view.marks()] == [3, 3]
    # Of other groups, nothing that was chosen of the old ones is left.
    assert "focus" not in view.page.url and "y=speed" in view.page.url
    view.page.reload()
    view.enter()
    assert view.names() == ["adam", "sgd"]


@pytest.fixture(scope="module")
def torch(browser, tmp_path_factory):
    """The address of a TensorBoard that shows what torch writes."""
    folder = tmp_path_factory.mktemp("torch")
    strangers.write_torch(folder)
    with servers.serve(folder) as address:
        yield address


def test_a_log_of_torch_is_read_without_being_asked(view, torch):
    view.page.add_init_script(
        "new MutationObserver(() => { window.loading ||= "
        "document.querySelector('.loading')?.innerText; })"
        ".observe(document, {childList: true, subtree: true})"
    )
    view.open(torch)
    view.wait("() => document.querySelectorAll('.methods li').length === 2")
    assert "Reading the log" in view.frame.evaluate("window.loading")
    assert view.text(".figure h2") == "hparam/accuracy against Latency/val"
    assert view.frame.get_by_label("Group by").input_value() == "auto"

    # Filters by value and by range.
    box = view.frame.get_by_label("Filter by lr")
    box.select_option("range")
    view.frame.get_by_label("Minimum lr").fill("0.15")
    view.frame.get_by_label("Minimum lr").press("Enter")
    view.wait(SHOWN, "8 of 12 runs")
    view.frame.get_by_label("Filter by seed").select_option("=1")
    view.wait(SHOWN, "4 of 12 runs")
    assert "where=lr%3E%3D0.15%0Aseed%3D1" in view.page.url
    view.frame.evaluate(
        "() => { location.hash = 'p.tfcap_tradeoff.where=lr%3D0.1%0Alr%3D0.2' }"
    )
    view.wait(SHOWN, "8 of 12 runs")
    view.frame.get_by_label("Filter by seed").select_option("=1")
    view.wait(SHOWN, "4 of 12 runs")
    assert "0.1 or 0.2" in view.frame.get_by_label("Filter by lr").inner_text()
    view.frame.locator(".filters").get_by_role("button", name="Clear").click()
    view.wait(SHOWN, "12 of 12 runs")

    # Scales, ranges and zoom, which a link keeps.
    view.frame.get_by_text("Scales and ranges").click()
    view.frame.get_by_label("Logarithmic x").check()
    view.wait(
        "() => document.querySelector('.plot').layout.xaxis.type === 'log'"
    )
    view.frame.get_by_label("x to").fill("20")
    view.frame.get_by_label("x to").press("Enter")
    zoomed = (
        "() => Math.abs(document.querySelector('.plot')._fullLayout.xaxis"
        ".range[1] - Math.log10(20)) < 1e-4"
    )
    view.wait(zoomed)
    view.wait("() => location.hash.includes('zoom=Latency%2Fval')")
    view.page.reload()
    view.enter()
    view.wait(zoomed)
    view.button("Reset zoom").click()
    view.wait("() => !location.hash.includes('zoom')")

    # Curves and columns by choice, and the way to another tab.
    view.frame.get_by_text("A curve for each").click()
    view.frame.locator(".curve-names").get_by_label("lr").check()
    view.wait("() => document.querySelectorAll('.methods li').length === 3")
    view.frame.get_by_text("The figure as a table").click()
    view.frame.get_by_text("Columns", exact=True).click()
    view.frame.locator(".columns").get_by_label("Accuracy/val").check()
    view.wait(
        "() => [...document.querySelectorAll('th')]"
        ".some((th) => th.innerText === 'Accuracy/val')"
    )
    view.button("Pin lr = 0.1").click()
    link = view.frame.get_by_role("link", name="Time Series")
    link.wait_for()
    address = link.get_attribute("href")
    assert address.startswith(f"{torch}/?runFilter=%5E%28cnn_1_0%7C")
    assert address.endswith("#timeseries")


def test_a_direction_is_chosen_where_the_name_tells_none(view, scalars):
    view.open(scalars, source="scalars", x="speed", y="loss", group="run")
    box = view.frame.get_by_label("x is better")
    assert box.input_value() == "higher"
    box.select_option("lower")
    view.wait(
        "() => document.querySelector('.plot').layout.xaxis.title.text"
        " === 'speed \u2193'"
    )
    assert "p.tfcap_tradeoff.lower=speed" in view.page.url
    view.frame.get_by_role("radiogroup", name="Checkpoint").locator(
        "label", has_text="Best"
    ).click()
    view.wait("() => parent.location.hash.includes('at=best')")
    view.frame.wait_for_selector("label:text-is('Best is')")
    assert view.count(".notice.bad") == 0


def test_a_late_answer_takes_nothing_back(view, scalars):
    pattern = "(?P<method>\\w%2B)-(?P<rate>\\d)-(?P<seed>\\d)"
    view.open(scalars, source="scalars", group=pattern, x="loss", y="speed")
    by_rate = view.frame.get_by_label("Filter by rate")
    by_rate.wait_for()
    late = []
    view.page.route("**/state?*group=run*", lambda r: late.append(r))
    view.frame.get_by_label("Group by").select_option("run")
    box = view.frame.get_by_label("Pattern")
    view.frame.get_by_label("Group by").select_option("regex")
    box.fill(r"(?P<method>\w+)-(?P<speed>\d)-(?P<seed>\d)")
    box.press("Enter")
    view.frame.get_by_label("Filter by speed").wait_for()
    with view.page.expect_response("**/state?*group=run*"):
        late[0].continue_()
    # Whatever comes of it has come by then.
    with view.page.expect_response("**/figure?*pareto=1*"):
        view.frame.get_by_label("Pareto front").check()
    view.wait("() => !document.querySelector('.stage.busy')")
    assert view.frame.get_by_label("Filter by speed").is_visible()
    assert view.text(".status").startswith("12 runs")


def test_metrics_that_other_groups_lack_are_given_up(view, torch):
    view.open(torch, x="Accuracy/val", y="Loss/train")
    view.frame.get_by_label("Group by").select_option("run")
    view.wait("() => !location.hash.includes('y=Loss')")
    view.wait("() => !document.querySelector('.stage.busy')")
    assert view.count(".notice.bad") == 0 and "x=Accuracy" in view.page.url


def test_many_values_are_bounded_by_the_greatest(view, scalars):
    view.open(scalars, source="scalars")
    found = view.frame.evaluate(
        "async () => { const {varying} = await import(new URL("
        "'./static/filters.js', document.baseURI)); const runs = Array.from("
        "{length: 200}, (_, i) => ({params: {lr: i + 1}, seed: '00' + i}));"
        "return varying({runs, parameters: [{id: 'lr', title: 'lr'}]})"
        ".map(({id, values}) => [id, values.at(-1)]); }"
    )
    assert found == [["lr", "200"]]
