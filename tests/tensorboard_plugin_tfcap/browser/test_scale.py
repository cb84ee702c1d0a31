"""A thousand runs of twenty points."""

import pytest

from tests.tensorboard_plugin_tfcap.browser import servers
from tests.tensorboard_plugin_tfcap.test_scale import RUNS
from tests.tensorboard_plugin_tfcap.test_scale import write_runs

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def large(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    write_runs(folder)
    with servers.serve(folder) as address:
        servers.wait_for_runs(address, RUNS)
        yield address


def test_a_thousand_runs_are_drawn_and_an_axis_changes(view, large):
    view.open(large, inside=True, seeds="points", pareto="1")
    assert view.text(".status").startswith(f"{RUNS} runs")
    before = view.marks()
    assert len({mark["name"] for mark in before}) == 20
    view.frame.get_by_label("Vertical").select_option("r@1")
    view.titled("@1 ag")
    assert view.marks()[0]["y"] != before[0]["y"]
    view.button("Figure 3").click()
    view.wait("() => document.querySelector('.plot').data.length > 100")
