"""The page in TensorBoard: links, theme, filter, paths, new data."""

import json

import pytest

from tests.tensorboard_plugin_tfcap.browser import servers

pytestmark = pytest.mark.browser


def test_a_deep_link_is_followed(view, sweep):
    view.open(
        sweep,
        inside=True,
        **{"x": "bleu_4", "y": "r@1", "seeds": "none", "runs": "psst|luo"},
        **{"value": "0.1", "pareto": "1", "at": "best", "by": "r@1"},
    )
    assert view.text("h2") == "recall@1 against BLEU-4"
    names = {*view.names()}
    assert names == {"PSST Multinomial", "Luo et al. 2018"}
    assert view.text(".guide .grip") == "0.1"
    assert view.frame.get_by_label("Pareto front").is_checked()
    assert view.frame.get_by_label("Best by").input_value() == "r@1"
    view.page.reload()
    view.enter()
    assert view.text("h2") == "recall@1 against BLEU-4"


def test_the_way_back_is_open(view, sweep):
    view.open(sweep, inside=True)
    view.page.evaluate(
        "() => { location.hash = '#tfcap_tradeoff&p.tfcap_tradeoff.x=bleu_4' }"
    )
    view.titled("BLEU")
    view.page.go_back()
    view.titled("CIDEr")


def test_the_theme_is_that_of_tensorboard(view, sweep):
    view.open(sweep, query="?darkMode=true")
    assert (
        view.frame.evaluate("() => document.documentElement.dataset.theme")
        == "dark"
    )
    ink = "() => document.querySelector('.plot').layout.font.color"
    dark = view.frame.evaluate(ink)
    view.page.evaluate("() => document.body.classList.remove('dark-mode')")
    view.wait("() => document.documentElement.dataset.theme === 'light'")
    view.wait(f"(old) => ({ink})() !== old", dark)


def test_tensorboards_own_run_filter_is_taken_over(view, sweep):
    view.open(sweep, query="?runFilter=luo")
    assert "TensorBoard" in view.text("#run-filter-hint")
    assert view.names() == ["Luo et al. 2018"]
    view.filter("")
    view.wait("() => document.querySelector('.plot').data.length > 6")


def test_it_works_below_a_path_and_new_runs_appear(view, tmp_path):
    with servers.serve(
        tmp_path, "--path_prefix", "/deep/down", "--reload_interval", "1"
    ) as address:
        view.open(address, inside=True)
        assert "No trade-off points yet" in view.text(".state h2")
        assert "TradeoffWriter" in view.text(".state pre")
        assert view.text(".state code") == str(tmp_path)
        servers.write_one(tmp_path)
        view.wait("() => document.querySelector('.plot')?.data?.length > 0")
        assert view.names() == ["late"]
        servers.write_one(tmp_path, "later")
        view.wait("() => document.querySelectorAll('.methods li').length == 2")
        assert view.text(".status").startswith("2 runs")


def test_a_server_that_is_gone_leaves_the_figure_and_comes_back(view, sweep):
    view.open(sweep, inside=True)
    view.page.route("**/state*", lambda route: route.abort())
    view.page.route("**/figure*", lambda route: route.abort())
    view.frame.wait_for_selector(".notice.bad")
    assert "Is it still running?" in view.text(".notice.bad")
    assert len(view.marks()) == 5
    view.page.unroute("**/state*")
    view.page.unroute("**/figure*")
    view.wait("() => !document.querySelector('.notice.bad')")


def test_without_plotly_the_table_is_shown(view, sweep):
    answer = json.dumps({"error": "Plotly is not installed."})
    view.page.route(
        "**/plotly.js*",
        lambda route: route.fulfill(
            status=404, content_type="application/json", body=answer
        ),
    )
    view.page.goto(f"{sweep}/#tfcap_tradeoff")
    view.find()
    view.frame.wait_for_selector("details[open] table tbody tr")
    assert "Plotly is not installed." in view.text(".notice")
