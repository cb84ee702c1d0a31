from tensorboard_plugin_tfcap.tradeoff.style import style
from tensorboard_plugin_tfcap.tradeoff.style import styles

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
    assert len({color for color, _, _ in found.values()}) == 1
