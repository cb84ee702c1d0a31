import json
import re

import plotly.graph_objects as go
import pytest

import tfcap
from tensorboard_plugin_tfcap.report import main
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tests.tensorboard_plugin_tfcap.serving import write_curves


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    return write_curves(tmp_path_factory.mktemp("logs"))


def test_a_report_needs_nothing_else(logdir, tmp_path, capsys):
    path = tmp_path / "report.html"
    more = ["--hide", "Luo et al. 2018", "--lower", "r@1"]
    assert main([*more, str(logdir), "-o", str(path)]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    text = path.read_text(encoding="utf-8")
    scripts = re.compile(r"<script.*?</script>", re.DOTALL)
    assert not re.search(r'(src|href)="(?!data:)', scripts.sub("", text))
    assert not re.search(r"<script[^>]+src=", text)
    assert "data:image/jpeg;base64," in text
    assert "at the last crossing along" in text
    assert "interval of the mean by Student" in text
    assert "recall@1 lower" in text and "<td>Luo et al. 2018</td>" not in text
    # What people wrote is text.
    assert "<b onclick" not in text and "&lt;b onclick" in text
    (found,) = re.findall(r'id="figures">(.*?)</script>', text)
    figures = json.loads(found)
    assert list(figures)[0] == "recall@10 against CIDEr-D"
    assert "mean rank against BLEU-4" in figures and "Figure 3 (a-f)" in figures
    for figure in figures.values():
        go.Figure({"data": figure["data"], "layout": figure["layout"]})


def test_a_report_tells_why_there_is_none(tmp_path, capsys):
    assert main([str(tmp_path), "-o", str(tmp_path / "a.html")]) == 2
    assert "must hold points with two metrics" in capsys.readouterr().err
    assert main([str(tmp_path / "none")]) == 2
    assert "must be a folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"preset": "fig3"},
        {"seeds": "band", "labels": False},
        {"seeds": "points", "dark": True},
        {"refs": True, "pareto": True, "along": "y", "value": 70.0},
        {"x": "mean_rank", "y": "r@1", "pareto": True, "at": "best"},
    ],
)
def test_plotly_knows_everything_in_a_figure(logdir, options):
    figure = tfcap.show_tradeoff(logdir, **options)
    assert isinstance(figure, go.Figure) and figure.data


def test_a_wrong_metric_is_refused(logdir):
    with pytest.raises(ValueError, match="`x` must be a metric of the log"):
        tfcap.show_tradeoff(logdir, x="nope")


def test_a_notebook_has_room_for_the_figure_and_knows_its_options(logdir):
    figure = tfcap.show_tradeoff(logdir, hide="Luo et al. 2018")
    assert figure.layout.height > 540
    (hidden,) = {t.name for t in figure.data if t.visible == "legendonly"} - {
        None
    }
    assert hidden == "Luo et al. 2018"
    panels = tfcap.show_tradeoff(logdir, preset="fig3").layout
    assert max(panels.yaxis2.range) < 80
    assert "Labels" not in panels.legend.title.text
    with pytest.raises(TypeError, match="Received: colour, paretto"):
        tfcap.show_tradeoff(logdir, paretto=True, colour=1)


def test_a_way_to_show_seeds_that_is_none_is_refused(logdir):
    with pytest.raises(ValueError, match="`seeds` must be one of points"):
        tfcap.show_tradeoff(logdir, seeds="all")


def test_one_metric_is_not_enough(tmp_path):
    with TradeoffWriter(tmp_path, "mine") as writer:
        writer.point(0, {"r@10": 1.0})
    assert "nothing to draw" in str(tfcap.show_tradeoff(tmp_path).layout)
