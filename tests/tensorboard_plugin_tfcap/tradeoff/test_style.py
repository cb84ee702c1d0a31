import numpy as np
import pytest

from tensorboard_plugin_tfcap.dataset import Dataset
from tensorboard_plugin_tfcap.seen import SeenMethods
from tensorboard_plugin_tfcap.tradeoff.colors import _lab
from tensorboard_plugin_tfcap.tradeoff.colors import contrast
from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint
from tensorboard_plugin_tfcap.tradeoff.style import FAINT
from tensorboard_plugin_tfcap.tradeoff.style import KnownTitles
from tensorboard_plugin_tfcap.tradeoff.style import on_paper
from tensorboard_plugin_tfcap.tradeoff.style import style
from tensorboard_plugin_tfcap.tradeoff.style import styles
from tensorboard_plugin_tfcap.tradeoff.style import text_color

KNOWN = ["Ours", "Ours, cooled", "Dense (\u03c1 = 1)", "Theirs"]


def test_known_methods_take_their_looks_from_their_places():
    looks = [style(title, KNOWN) for title in KNOWN]
    assert len(set(looks)) == len({color for color, _, _ in looks}) == 4
    assert style("Theirs", ["Others", *KNOWN[1:]]) == looks[3]


def test_curves_of_one_method_have_its_color():
    ours = style("Ours", KNOWN)
    assert style("Ours, \u03c4 = 0.5", KNOWN) == ours
    for title in ("Ours (code)", "Ours, \u03c4 = 0.5 (old)"):
        color, marker, dash = style(title, KNOWN)
        assert (color, marker) == ours[:2] and dash != ours[2]


def test_unknown_methods_follow_the_known_ones_in_the_order_of_their_names():
    # Their letters have one sum: "ad", "bc".
    unknown = ["bc, k = 2", "ad", *(f"method {n}" for n in range(20))]
    looks = styles([*KNOWN, *unknown], KNOWN)
    assert len({(c, marker) for c, marker, _ in looks.values()}) == len(looks)
    assert looks == styles([*unknown[::-1], *KNOWN], KNOWN)
    assert styles(["bc", "ad"])["ad"] == style("ad") == style("Ours", KNOWN)


def test_several_curves_of_a_method_look_alike_but_not_the_same():
    names = [f"Ours, \u03c1 = {rho}" for rho in (0.25, 0.5, 0.75)]
    found = styles(names, KNOWN)
    assert len(set(found.values())) == 3
    # Shades of one color, whose labels can be told apart.
    colors = [color for color, _, _ in found.values()]
    assert len(set(colors)) == 3 and colors[0] == style("Ours", KNOWN)[0]


def test_all_methods_have_colors_of_their_own():
    methods = [f"method {n:02}" for n in range(90)]
    found = styles(methods)
    assert len({color for color, _, _ in found.values()}) == 90
    # As many as a log may have end, too.
    assert len(styles([f"method {n}" for n in range(700)])) == 700
    # Far from each other, as many as a figure can have.
    places = np.array([_lab(found[name][0]) for name in methods[:24]])
    gaps = np.linalg.norm(places[:, None] - places, axis=-1)
    assert gaps[np.triu_indices(24, 1)].min() > 0.07


@pytest.mark.parametrize("dark", [False, True])
def test_all_labels_have_contrast(dark):
    methods = [f"method {n}" for n in range(40)]
    looks = styles(methods)
    extremes = FAINT, "#ffffff", "#000000"
    for color in (*extremes, *(color for color, _, _ in looks.values())):
        for paper in ("#393a3c", "#1f2328") if dark else ("#ffffff",):
            assert contrast(text_color(color, dark), paper) >= 4.5
            least = 1.6 if color == FAINT else 2.0 + dark
            assert contrast(on_paper(color, dark), paper) >= least


def test_a_focus_leaves_the_look_of_a_method():
    methods = ["a", "b", "c"]
    focused = styles(methods, KnownTitles(methods, ["b"]))
    assert focused["b"] == styles(methods)["b"]
    assert [focused[name][0] for name in "ac"] == [FAINT, FAINT]


def test_looks_stay_while_methods_come_and_go():
    seen = SeenMethods()

    def looks(*methods):
        points = [TradeoffPoint(name, name) for name in methods]
        dataset = seen.ordered("log", Dataset("points", "", points, {}))
        return styles(methods, dataset.known)

    first = looks("m", "n")
    later = looks("a", "m", "n", "z")
    assert {name: later[name] for name in "mn"} == first
    again = looks("b", "n", "z")
    assert again["n"] == first["n"] and again["z"] == later["z"]
    assert again["b"] not in later.values()
