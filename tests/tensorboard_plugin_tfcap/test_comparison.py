import json

import pytest

from tensorboard_plugin_tfcap.comparison import Comparison
from tensorboard_plugin_tfcap.comparison import load_comparison
from tensorboard_plugin_tfcap.comparison import read_comparison
from tensorboard_plugin_tfcap.metadata import RecordError
from tensorboard_plugin_tfcap.notebook import show_tradeoff
from tensorboard_plugin_tfcap.report import main
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tensorboard_plugin_tfcap.summary import write_comparison
from tests.tensorboard_plugin_tfcap.comparison import PRESETS
from tests.tensorboard_plugin_tfcap.serving import serving
from tests.tensorboard_plugin_tfcap.views import logged
from tests.tensorboard_plugin_tfcap.views import selected

PANEL = {"id": "a", "title": "A", "y": "r@10", "panels": [{"x": "cider_d"}]}


def write_rhos(folder):
    """A method with two rho, and one that stands for the third."""
    runs = [("psst_multinomial", 0.25, 4.0), ("psst_multinomial", 0.5, 8.0)]
    for method, rho, gain in [*runs, ("st_multinomial", None, 0.0)]:
        for weight in (0.1, 0.2):
            params = {"lambda": weight} | ({"rho": rho} if rho else {})
            name = ",".join(f"{k}={v}" for k, v in params.items())
            with TradeoffWriter(folder / method / name, method, params) as log:
                values = {"cider_d": 1 - weight, "r@10": 50 + gain + weight}
                log.point(0, values)


def test_a_writer_names_its_method_for_people(tmp_path):
    with TradeoffWriter(tmp_path, "mine", title="My method") as writer:
        writer.point(0, {"cider_d": 1.0, "r@10": 50.0})
    found = logged(tmp_path)
    assert list(selected(found).groups) == ["My method"]
    assert found.about(".")["method"] == "My method"


def test_a_log_of_before_shows_the_names_of_its_methods(tmp_path):
    write_rhos(tmp_path)
    with serving(tmp_path, fast=False) as server:
        state = server.wait(6)
        assert server.error("figure", preset="fig3")[0] == 400
    assert state["methods"][-1] == "st_multinomial"
    assert state["presets"] == [] and state["references"] == 0


def test_panels_are_of_the_usual_value_and_against_the_parameter(tmp_path):
    write_rhos(tmp_path)
    titles = {"st_multinomial": "ST", "psst_multinomial": "PSST"}
    write_comparison(tmp_path / "about", titles, PRESETS)
    with serving(tmp_path, fast=False) as server:
        server.wait(6, presets=2)
        view = server.json("figure", preset="fig3")
        other = server.json("figure", preset="fig3", usual="0.5")
        code, text = server.error("figure", preset="fig3", usual="0.75")
    assert view["title"] == "Figure 3 (a-f)"
    ours = [row for row in view["rows"] if row["panel"] == 1]
    assert [row["y"] for row in ours] == [50.1, 50.2, 54.1, 54.2]
    assert {row["method"] for row in ours} == {"ST", "PSST"}
    others = [row["y"] for row in other["rows"] if row["panel"] == 1]
    assert others[2:] == [58.1, 58.2]
    last = [row for row in view["rows"] if row["panel"] == 5]
    labels = [f"\u03c1 = {rho}" for rho in ("0", "0.25", "0.5")]
    assert [row["label"] for row in last] == labels
    assert [row["y"] for row in last] == pytest.approx([50.1, 54.1, 58.1])
    assert view["panels"][5]["title"] == "(f) \u03c1, at CIDEr-D = 0.9"
    assert code == 400 and "`usual` must be a rho" in text


def test_a_file_says_how_a_log_of_before_is_presented(tmp_path):
    write_rhos(tmp_path / "log")
    path = tmp_path / "comparison.json"
    titles = {"st_multinomial": "ST", "psst_multinomial": "PSST"}
    path.write_text(json.dumps({"titles": titles, "presets": PRESETS}))
    flag = f"--tfcap_comparison={path}"
    with serving(tmp_path / "log", False, flag) as server:
        state = server.wait(6)
        rev = state["rev"]
        assert server.json("state", rev=rev)["unchanged"]
        assert server.json("figure")["rev"] == rev
        path.write_text(json.dumps({"titles": {"st_multinomial": "Other"}}))
        edited = server.json("state", rev=rev)
        assert "Other" in edited["methods"] and edited["rev"] != rev
        path.write_text("{")
        code, text = server.error("state", rev=edited["rev"])
        path.unlink()
        assert server.error("state", rev=edited["rev"])[0] == 400
    assert state["methods"][0] == "ST"
    assert [preset["id"] for preset in state["presets"]] == ["fig3", "table2"]
    assert code == 400 and "must name a JSON file of titles" in text
    path.write_text(json.dumps({"titles": titles}))
    figure = show_tradeoff(tmp_path / "log", path)
    assert "ST" in {row["method"] for row in figure.shown.view["rows"]}
    report = str(tmp_path / "report.html")
    arguments = [str(tmp_path / "log"), "-o", report, "--comparison"]
    assert main([*arguments, str(path)]) == 0
    assert main([*arguments, str(tmp_path / "none.json")]) == 2


def test_two_comparisons_of_one_log_are_joined():
    first = Comparison({"b": "B", "a": "A"}, {"x": 1}, [1])
    second = Comparison({"a": "other", "c": "C"}, {"x": 2, "y": 3}, [1, 2])
    found = first.joined(second)
    assert list(found.titles.items()) == [("b", "B"), ("a", "A"), ("c", "C")]
    assert found.presets == {"x": 1, "y": 3} and found.references == [1, 2]


@pytest.mark.parametrize(
    "content, problem",
    [
        ({"titles": ["a"]}, "titles that are not an object"),
        ({"presets": {"a": 1}}, "presets that are not a list"),
        ({"presets": [1]}, "presets that are not objects"),
        ({"presets": [{"id": "a"}]}, "without an id, a title or `y`"),
        ({"presets": [{**PANEL, "panels": [{}]}]}, "a panel without `x`"),
        ({"presets": [{**PANEL, "panels": []}]}, "neither `x` nor panels"),
        ({"presets": [{**PANEL, "along": "z"}]}, "along neither 'x' nor 'y'"),
        ({"references": [{"title": "a"}]}, "no title, or no metric"),
    ],
)
def test_a_wrong_comparison_is_refused_and_read_as_none(
    tmp_path, content, problem
):
    with pytest.raises(RecordError, match=problem):
        read_comparison(json.dumps({"version": 1, **content}))
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=problem):
        load_comparison(path)
    if "references" not in content and "titles" not in content:
        with pytest.raises(ValueError, match="must be as documented"):
            write_comparison(tmp_path / "log", **content)
        assert not (tmp_path / "log").exists()
