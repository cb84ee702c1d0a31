import re

import numpy as np
import pytest
from PIL import Image

from reproduce.psst_figures import curve_figure
from reproduce.psst_figures import write_curve_figure
from reproduce.psst_figures.methods import TITLES
from tensorboard_plugin_tfcap.tradeoff.style import style
from tests.reproduce.captioning.tiny_records import RECORDS
from tests.reproduce.captioning.tiny_records import heard
from tests.reproduce.captioning.tiny_records import line


def marked(figure):
    """Traces that have markers, by panel and method."""
    return {
        (trace.xaxis, trace.name): trace
        for trace in figure.data
        if "markers" in trace.mode
    }


def test_the_page_draws_every_method_in_its_panels():
    figure = curve_figure(RECORDS, title="tiny")
    found = marked(figure)
    assert {axis for axis, _ in found} == {"x", "x2", "x4", "x6"}
    psst = found["x2", "PSST Multinomial"]
    np.testing.assert_allclose(psst.x, [1.2, 1.0])
    np.testing.assert_allclose(psst.y, [71.0, 81.0])
    assert psst.text[0] == "\u03bb = 0.001, 2 of 2 seeds"
    assert list(found["x6", "PSST Multinomial"].x) == [0.0, 0.25, 0.5]
    assert found["x6", "PSST Multinomial"].error_y.array is not None
    # The legend names a method once.
    shown = [t.name for t in figure.data if t.showlegend]
    assert sorted(shown) == sorted(set(shown)) and len(shown) == 3
    # METEOR and SPICE are absent, which is said in the middle of their panels.
    layout = figure.layout
    notes = [a for a in layout.annotations if a.text.startswith("absent")]
    assert [(a.x, a.y) for a in notes] == [
        (sum(x.domain) / 2, sum(y.domain) / 2)
        for x, y in (
            (layout.xaxis3, layout.yaxis3),
            (layout.xaxis5, layout.yaxis5),
        )
    ]
    assert layout.xaxis3.visible is False and layout.xaxis2.visible is None


def test_a_point_that_lacks_seeds_is_hollow():
    found = marked(curve_figure(line("luo2018", 0.0)[:-1]))
    symbols = found["x2", "Luo et al. 2018"].marker.symbol
    assert [s.endswith("-open") for s in symbols] == [False, True]


def test_the_page_needs_no_network(tmp_path):
    path = tmp_path / "curve.html"
    write_curve_figure(path, RECORDS, title="what it was <found> on")
    text = path.read_text(encoding="utf-8")
    assert not re.search(r'<script[^>]+src="http', text)
    assert "PSST Multinomial" in text and len(text) > 1_000_000


def test_a_picture_says_what_is_absent_and_of_what_it_is(tmp_path):
    path = tmp_path / "curve.svg"
    write_curve_figure(path, RECORDS, title="tiny data", cider=1.1)
    text = path.read_text(encoding="utf-8")
    for words in (
        "tiny data",
        "(e) SPICE",
        "absent: none of 10 points has it",
        "at CIDEr-D = 1.1",
        "Luo et al. 2018",
    ):
        assert f"<!-- {words}" in text or words in text, words


def test_the_same_records_make_the_same_picture(tmp_path):
    paths = [tmp_path / f"{name}.png" for name in "ab"]
    for path in paths:
        write_curve_figure(str(path), RECORDS)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    width, height = Image.open(paths[0]).size
    assert height > 800 and width > 1500


def test_recall_by_every_listener_is_drawn_the_fixed_one_first(tmp_path):
    records = heard(RECORDS, gain=3.0)
    figure = curve_figure(records)
    found = marked(figure)
    np.testing.assert_allclose(found["x", "PSST Multinomial"].y, [35.5, 40.5])
    np.testing.assert_allclose(found["x2", "PSST Multinomial"].y, [71.0, 81.0])
    texts = [note.text for note in figure.layout.annotations]
    assert texts[0].startswith("fixed listener") and "own" in texts[1]
    # One scale, so that what only the two understand is seen.
    assert figure.layout.yaxis2.matches == "y"
    path = tmp_path / "curve.svg"
    write_curve_figure(path, records)
    assert "held out" in path.read_text(encoding="utf-8")


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="must end in .html, .png"):
        write_curve_figure(tmp_path / "curve.jpg", RECORDS)


def test_methods_can_be_told_apart_by_color_or_marker_or_dash():
    titles = [*TITLES.values(), *(f"{t} (code)" for t in TITLES.values())]
    looks = {style(title, TITLES.values()) for title in titles}
    assert len(looks) == len(titles)
