"""Logs of people who have never heard of trade-off points."""

import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tests.tensorboard_plugin_tfcap.browser import servers

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def scalars(browser, tmp_path_factory):
    """The address of a TensorBoard that has scalars alone."""
    folder = tmp_path_factory.mktemp("scalars")
    for method in ("adam", "sgd"):
        for rate in (1, 2, 3):
            for seed in (0, 1):
                write_run(folder / f"{method}-{rate}-{seed}", rate, seed)
    with servers.serve(folder) as address:
        yield address


def write_run(folder, rate, seed):
    writer = EventFileWriter(str(folder))
    for step in (1, 2, 3):
        found = {"loss": 1 / (rate + step), "speed": rate * step + seed}
        values = [
            Summary.Value(tag=k, simple_value=v) for k, v in found.items()
        ]
        writer.add_event(Event(step=step, summary=Summary(value=values)))
    writer.close()


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
    view.open(scalars, source="scalars", x="loss", y="speed")
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
    view.page.reload()
    view.enter()
    assert [mark["name"] for mark in view.marks()] == ["adam", "sgd"]


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
