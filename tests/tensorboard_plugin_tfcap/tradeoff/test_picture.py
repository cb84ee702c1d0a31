"""Files for print hold what the figure holds, in its places."""

import itertools
import re
import xml.dom.minidom

import numpy as np
import pytest

from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.tradeoff import panels_figure
from tensorboard_plugin_tfcap.tradeoff.panels import Panel
from tensorboard_plugin_tfcap.tradeoff.picture import draw_sheet
from tensorboard_plugin_tfcap.tradeoff.picture import print_figure
from tensorboard_plugin_tfcap.tradeoff.style import MARKERS
from tests.tensorboard_plugin_tfcap.tradeoff.points import boxes_meet
from tfcap.curves.lines import Line

matplotlib = pytest.importorskip("matplotlib")
HOSTILE = '<b a="1">&\u03bb'


def line(title, x, y, **more):
    x, y = np.array(x, float), np.array(y, float)
    names = [f"k = {place}" for place in range(len(x))]
    whole = np.arange(len(x)) > 0
    return Line(title, x, y, names, whole, names=names, **more)


@pytest.fixture(scope="module")
def figure():
    """Two curves, the first one with bars; the line at x = 2.5."""
    bars = {"low": np.array([3.0, 4, 5]), "high": np.array([5.0, 8, 9])}
    lines = [
        line("mine", [1, 2, 4], [4, 6, 8], **bars),
        line(HOSTILE, [1, 3, 5], [2, 3, 5]),
    ]
    panel = Panel("", "CIDEr-D \u2191", "recall@10 \u2191", lines)
    found = panels_figure([panel], labels=True)
    found["layout"]["shapes"] = [
        {
            **{"x0": 2.5, "xref": "x", "yref": "y domain"},
            "line": {"color": "#000000", "width": 2, "dash": "dash"},
        }
    ]
    return found


def marks(panel):
    """Places and hollowness of the marks of each method."""
    return [
        (tuple(place), collection.get_linewidth()[0] > 0)
        for collection in panel.collections
        if hasattr(collection, "get_sizes")
        for place in collection.get_offsets()
    ]


def labels(panel):
    return [text for text in panel.texts if text.get_text()]


@pytest.mark.parametrize("width, size", [(237.6, 8), (1080, 13)])
def test_a_sheet_has_marks_bars_and_the_line(figure, width, size):
    (panel,) = draw_sheet(figure, width, size).axes
    found = sorted(marks(panel))
    wanted = [(1, 2), (1, 4), (2, 6), (3, 3), (4, 8), (5, 5)]
    np.testing.assert_allclose([place for place, _ in found], wanted)
    # The first point of each lacks seeds.
    assert [place for place, hollow in found if hollow] == [(1, 2), (1, 4)]
    (bars,) = (c for c in panel.collections if hasattr(c, "get_segments"))
    bars = [[y for _, y in ends] for ends in bars.get_segments()]
    assert bars == [[3, 5], [4, 8], [5, 9]]
    assert any(set(one.get_xdata()) == {2.5} for one in panel.lines)
    assert "2.5" in [text.get_text() for text in labels(panel)]


@pytest.mark.parametrize("count", [6, 60])
def test_labels_lie_neither_on_one_another_nor_on_marks(count):
    rng = np.random.default_rng(0)
    curve = line("mine", rng.random(count), rng.random(count))
    figure = panels_figure([Panel("", "x", "y", [curve])], labels=True)
    (panel,) = draw_sheet(figure, 400, 9).axes
    boxes = [text.get_window_extent().padded(-1) for text in labels(panel)]
    assert len(boxes) >= min(count, 20) - 2
    pairs = itertools.combinations(boxes, 2)
    assert not any(boxes_meet(*pair) for pair in pairs)
    places = panel.transData.transform([place for place, _ in marks(panel)])
    for box, place in itertools.product(boxes, places):
        assert not box.contains(*place)


def test_everything_is_on_the_sheet(figure):
    for width, size in ((237.6, 8), (496.8, 10), (360, 13)):
        sheet = draw_sheet(figure, width, size, "How to read it. " * 9)
        (panel,) = sheet.axes
        (legend,) = sheet.legends
        texts = [panel.xaxis.label, panel.yaxis.label, *sheet.texts]
        boxes = [text.get_window_extent() for text in texts]
        boxes += [legend.get_window_extent(), panel.get_tightbbox()]
        for box in boxes:
            assert box.x0 > -2 and box.x1 < sheet.bbox.x1 + 2, box
            assert box.y0 > -2 and box.y1 < sheet.bbox.y1 + 2, box
        note, below = boxes[2], legend.get_window_extent()
        assert note.y1 < below.y1 and below.y1 < panel.bbox.y0
        names = [text.get_text() for text in legend.get_texts()]
        assert names == ["mine", HOSTILE]


def test_a_zoom_leaves_out_what_is_beyond(figure):
    ranges = {"xaxis": (1.5, 3.5), "yaxis": (0, 10)}
    (panel,) = draw_sheet(figure, 300, 9, ranges=ranges).axes
    assert panel.get_xlim() == (1.5, 3.5) and panel.get_ylim() == (0, 10)
    assert all(text.get_annotation_clip() for text in labels(panel))


def test_a_logarithmic_axis():
    curve = line("a", [1, 10, 100], [0, 1, 2])
    figure = panels_figure([Panel("", "x", "y", [curve])])
    figure["layout"]["xaxis"] |= {"type": "log", "range": [-0.5, 2.5]}
    (panel,) = draw_sheet(figure, 300, 9).axes
    assert panel.get_xscale() == "log"
    np.testing.assert_allclose(np.log10(panel.get_xlim()), [-0.5, 2.5])


@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
def test_every_marker_is_drawn_and_a_file_is_the_same_again(form):
    lines = [line(f"method {i}", [i], [i]) for i in range(len(MARKERS))]
    figure = panels_figure([Panel("", "x", "y", lines)])
    one, two = (print_figure(figure, form, 300, dpi=50) for _ in range(2))
    assert one == two


def test_names_are_text(figure):
    text = print_figure(figure, "svg", 300, note=HOSTILE, about=HOSTILE)
    page = xml.dom.minidom.parseString(text).documentElement
    assert page.getAttribute("width") == "300pt"
    said = [t.firstChild.data for t in page.getElementsByTagName("text")]
    assert said.count(HOSTILE) == 2 and not page.getElementsByTagName("b")


def test_small_multiples_stand_in_as_many_columns_as_there_is_room():
    curve = line("_a $x$", [1, 2], [3, 4])
    panels = [
        Panel(f"({i})", "x", f"y{i}", [curve] * (i > 0), "none")
        for i in range(4)
    ]
    figure = panels_figure(panels)
    for width, columns in ((1080, 3), (640, 2), (360, 1)):
        found = draw_sheet(figure, width, 13)
        first, *_ = found.axes
        titles = [panel.get_title() for panel in found.axes]
        assert titles == ["(0)", "(1)", "(2)", "(3)"]
        (name,) = found.legends[0].get_texts()
        assert name.get_text() == "_a $x$" and not first.axison
        assert first.get_gridspec().ncols == columns
        assert "none" in [text.get_text() for text in first.texts]


def test_files_have_the_size_and_the_letters_that_are_asked_for(figure):
    more = {"note": "How to read it.", "about": "How to read it."}
    pdf = print_figure(figure, "pdf", 237.6, 8, "serif", **more)
    size = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", pdf)
    np.testing.assert_allclose(float(size[1]), 237.6, atol=0.1)
    # Letters are embedded, as journals ask for.
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf
    assert b"How to read it" in pdf
    png = print_figure(figure, "png", 237.6, 8, dpi=100)
    assert int.from_bytes(png[16:20]) == 330
    with pytest.raises(QueryError, match="`font` must be installed"):
        print_figure(figure, "pdf", 237.6, 8, "No Such Font")
