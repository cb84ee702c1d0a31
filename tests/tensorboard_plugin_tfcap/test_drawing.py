"""Drawings hold what the figure holds, in its places."""

import itertools
import re
import xml.dom.minidom
from dataclasses import replace

import numpy as np
import pytest

from tensorboard_plugin_tfcap.drawing.drawing import draw
from tensorboard_plugin_tfcap.drawing.items import Text
from tensorboard_plugin_tfcap.drawing.printed import printed
from tensorboard_plugin_tfcap.drawing.svg import svg_text
from tensorboard_plugin_tfcap.drawing.symbols import outline
from tensorboard_plugin_tfcap.drawing.text_size import text_width
from tensorboard_plugin_tfcap.drawing.ticks import Scale
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.tradeoff import panels_figure
from tensorboard_plugin_tfcap.tradeoff.panels import Panel
from tensorboard_plugin_tfcap.tradeoff.style import MARKERS
from tfcap.curves.lines import Line

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
            **{"name": "line", "type": "line", "x0": 2.5, "x1": 2.5},
            **{"y0": 0, "y1": 1, "xref": "x", "yref": "y domain"},
        }
    ]
    return found


def items(drawing, kind):
    return [i for la in drawing.layers if la.kind == kind for i in la.items]


def place_of(drawing):
    """Values of places, by the ticks that a reader would read them off."""
    texts = [i for i in items(drawing, "axis") if isinstance(i, Text)]
    ticks = [t for t in texts if re.fullmatch(r"[\d.]+", t.text)]
    x = [(t.x, float(t.text)) for t in ticks if t.anchor == "middle"]
    y = [
        (t.y - 0.34 * t.size, float(t.text)) for t in ticks if t.anchor == "end"
    ]
    return [np.polyfit(*zip(*pairs), 1) for pairs in (x, y)]


@pytest.mark.parametrize("width, size", [(237.6, 8), (1080, 13)])
def test_marks_and_bars_are_where_the_ticks_say(figure, width, size):
    drawing = draw(figure, width, size)
    x, y = place_of(drawing)
    marks = items(drawing, "marks")
    found = [(np.polyval(x, m.x), np.polyval(y, m.y)) for m in marks]
    wanted = [(1, 4), (2, 6), (4, 8), (1, 2), (3, 3), (5, 5)]
    np.testing.assert_allclose(found, wanted, atol=0.02)
    assert [m.hollow for m in marks] == [True, False, False] * 2
    paths = items(drawing, "curve")
    bars = [p.points for p in paths if p.points[0][0] == p.points[1][0]]
    ends = [np.polyval(y, [end for _, end in bar]).round(1) for bar in bars]
    bars = sorted(sorted(end.tolist()) for end in ends)
    assert bars == [[3, 5], [4, 8], [5, 9]]
    (level,) = [i for i in items(drawing, "line") if not isinstance(i, Text)]
    np.testing.assert_allclose(
        np.polyval(x, level.points[0][0]), 2.5, atol=0.02
    )


def box(text, size):
    return text.x, text.y - 0.75 * size, text.x + text_width(text.text, size)


@pytest.mark.parametrize("count", [6, 60])
def test_labels_lie_neither_on_one_another_nor_on_marks(count):
    rng = np.random.default_rng(0)
    curve = line("mine", rng.random(count), rng.random(count))
    drawing = draw(
        panels_figure([Panel("", "x", "y", [curve])], labels=True), 300
    )
    labels, marks = items(drawing, "label"), items(drawing, "marks")
    assert len(marks) == count and len(labels) >= min(count, 20) - 2
    boxes = [(*box(t, t.size), t.y + 0.1 * t.size) for t in labels]
    small = 0.3 * marks[0].size
    boxes += [
        (m.x - small, m.y - small, m.x + small, m.y + small) for m in marks
    ]
    for a, b in itertools.combinations(boxes[: len(labels)], 2):
        assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]
    for a, b in itertools.product(boxes[: len(labels)], boxes[len(labels) :]):
        assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]


def test_everything_is_on_the_sheet(figure):
    for width, size in ((237.6, 8), (496.8, 10), (360, 13)):
        drawing = draw(figure, width, size, note="How to read it. " * 9)
        for layer in drawing.layers:
            for text in layer.items:
                if isinstance(text, Text) and not text.turned:
                    wide = text_width(text.text, text.size)
                    share = {"start": 0, "middle": 0.5, "end": 1}[text.anchor]
                    left = text.x - share * wide
                    assert -1 <= left and left + wide <= width + 1, text
                    assert 0 <= text.y <= drawing.height
        assert "How to read it." in items(drawing, "note")[0].text


def test_a_zoom_leaves_out_what_is_beyond(figure):
    zoomed = draw(figure, 300, ranges={"xaxis": (1.5, 3.5), "yaxis": (0, 10)})
    x, _ = place_of(zoomed)
    found = [np.polyval(x, m.x) for m in items(zoomed, "marks")]
    np.testing.assert_allclose(found, [2, 3], atol=0.02)
    texts = {t.text for t in items(zoomed, "label")}
    assert texts <= {"1"}


def test_a_logarithmic_axis():
    figure = panels_figure(
        [Panel("", "x", "y", [line("a", [1, 10, 100], [0, 1, 2])])]
    )
    figure["layout"]["xaxis"] |= {"type": "log", "range": [-0.5, 2.5]}
    xs = [m.x for m in items(draw(figure, 300), "marks")]
    np.testing.assert_allclose(xs[1] - xs[0], xs[2] - xs[1])
    assert Scale(0, 1, 0, 10, log=True)(-1.0) is None


@pytest.mark.parametrize(
    "low, high", [(0, 1), (-3.2, 7), (0.94, 0.97), (5, 5e4)]
)
def test_ticks_are_even_within_and_few(low, high):
    for most in (2, 5, 9):
        ticks = Scale(low, high, 0, 100).ticks(most)
        values = [value for value, _ in ticks]
        assert 1 <= len(values) <= most + 1
        assert low - 1e-9 <= values[0] and values[-1] <= high + 1e-9
        np.testing.assert_allclose(np.diff(values, 2), 0, atol=1e-9)
        texts = [float(text) for _, text in ticks]
        np.testing.assert_allclose(texts, values, rtol=1e-3, atol=1e-12)
        assert len(set(texts)) == len(texts)


def test_every_marker_of_a_method_has_an_outline():
    for _, name in MARKERS:
        corners = outline(name)
        assert corners is None or np.abs(corners).max() < 0.8


def test_names_are_text(figure):
    text = svg_text(draw(figure, 300, note=HOSTILE))
    page = xml.dom.minidom.parseString(text).documentElement
    assert page.getAttribute("width") == "4.167in"
    said = [t.firstChild.data for t in page.getElementsByTagName("text")]
    assert HOSTILE in said and not page.getElementsByTagName("b")
    inline = svg_text(draw(figure, 300), {"#0072B2"})
    assert "var(--tf0072B2)" in inline and "&lt;b a=&quot;1" in inline


def test_small_multiples_stand_in_as_many_columns_as_there_is_room():
    curve = line("a", [1, 2], [3, 4])
    panels = [
        Panel(f"({i})", "x", f"y{i}", [curve] * (i > 0), "none")
        for i in range(4)
    ]
    figure, columns = panels_figure(panels), {}
    for width in (1080, 640, 360):
        found = items(draw(figure, width, 13), "axis")
        texts = [item for item in found if isinstance(item, Text)]
        titles = [t for t in texts if re.fullmatch(r"\(\d\)", t.text)]
        assert [t.text for t in titles] == ["(0)", "(1)", "(2)", "(3)"]
        # An empty one is in the middle of its place, without an axis.
        columns[width] = len({round(t.x, -1) for t in titles[1:]})
        assert "none" in {t.text for t in texts}
    assert columns == {1080: 3, 640: 2, 360: 1}


def test_matplotlib_writes_the_same_sheet(figure):
    pytest.importorskip("matplotlib")
    drawing = draw(figure, 237.6, 8, "serif", note="How to read it.")
    pdf = printed(drawing, "pdf")
    size = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", pdf)
    np.testing.assert_allclose(float(size[1]), 237.6, atol=0.1)
    np.testing.assert_allclose(float(size[2]), drawing.height, atol=0.1)
    # Letters are embedded, as journals ask for.
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf
    assert b"How to read it" in pdf and printed(drawing, "pdf") == pdf
    png = printed(drawing, "png", dpi=100)
    wide, high = (int.from_bytes(png[i : i + 4]) for i in (16, 20))
    assert (wide, high) == (330, int(drawing.height / 72 * 100))
    with pytest.raises(QueryError, match="`font` must be installed"):
        printed(replace(drawing, font="No Such Font"), "pdf")
