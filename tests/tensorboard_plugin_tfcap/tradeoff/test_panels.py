import html
import xml.dom.minidom
from dataclasses import replace

import numpy as np
import pytest

from tensorboard_plugin_tfcap.tradeoff.curve_groups import group_points
from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
from tensorboard_plugin_tfcap.tradeoff.panels import axes_panel
from tensorboard_plugin_tfcap.tradeoff.picture import print_figure
from tensorboard_plugin_tfcap.tradeoff.plotly_figure import panels_figure
from tests.tensorboard_plugin_tfcap.tradeoff.points import line

X, Y = named_metric("cider_d"), named_metric("mean_rank")


def panel(points, **options):
    groups, _ = group_points(points, "lambda")
    return axes_panel(groups, X, Y, "lambda", **options)


def test_axes_tell_what_is_better():
    found, _ = panel(line("mine"))
    assert (found.x, found.y) == ("CIDEr-D \u2191", "mean rank \u2193")


def test_points_are_means_with_their_intervals():
    groups, _ = group_points(line("mine"), "lambda")
    recall = named_metric("r@10")
    found, _ = axes_panel(groups, X, recall, "lambda")
    (drawn,) = found.lines
    assert drawn.y.tolist() == [51.0, 61.0]
    # Of 50 and 52, the interval is 12.706 to both sides; 2 has none.
    np.testing.assert_allclose(drawn.high - drawn.y, 12.706, atol=1e-3)
    np.testing.assert_allclose(drawn.right - drawn.left, 0.0)
    assert drawn.names == ["\u03bb = 0.1", "\u03bb = 0.2"]


@pytest.mark.parametrize("spread", ["points", "interval", "band", "none"])
def test_seeds_are_shown_as_asked(spread):
    (drawn,) = panel(line("mine"), spread=spread)[0].lines
    assert (len(drawn.seeds) == 2) == (spread == "points")
    assert (drawn.low is not None) == (spread == "interval")
    assert (drawn.band is not None) == (spread == "band")


def test_nothing_to_draw_is_said():
    found, _ = panel([])
    assert found.lines == [] and "No point has" in found.note


def test_no_name_is_html_to_plotly():
    pytest.importorskip("matplotlib")
    link = '<a href="https://evil.example">ours</a>'
    points = [*line(link), *line("R&amp;D")]
    known, _ = panel(points)
    figure = panels_figure([known], legend="a < b", labels=True)
    names = [t["name"] for t in figure["data"] if "name" in t]
    assert names == [
        html.escape(name, quote=False) for name in (link, "R&amp;D")
    ]
    groups = {trace["legendgroup"] for trace in figure["data"]}
    assert groups == {link, "R&amp;D"}
    assert figure["layout"]["legend"]["title"]["text"] == "a &lt; b"
    # Matplotlib, which knows no HTML, has the names as they are.
    panels = [replace(known, x="acc<5>", title="<p>", note="<q>")]
    text = print_figure(panels_figure(panels, title="<t>"), "svg", 900.0)
    page = xml.dom.minidom.parseString(text)
    texts = {t.firstChild.data for t in page.getElementsByTagName("text")}
    assert {link, "R&amp;D", "acc<5>", "<p>", "<q>", "<t>"} <= texts
