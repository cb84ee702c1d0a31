import json
import pathlib
import re

import plotly.graph_objects as go
import pytest

import tfcap
from tensorboard_plugin_tfcap import options
from tensorboard_plugin_tfcap.notebook import show_tradeoff
from tensorboard_plugin_tfcap.report import main
from tensorboard_plugin_tfcap.report import write_report
from tensorboard_plugin_tfcap.static_files import plotly_path
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tests.tensorboard_plugin_tfcap.serving import said

STATIC = pathlib.Path(options.__file__).parent / "static"


@pytest.fixture(scope="module")
def report(curves_log):
    """A report of the command, as text."""
    path = curves_log.parent / "report.html"
    more = ["--hide", "Luo et al. 2018", "--lower", "r@1", "--preset", "table2"]
    more += ["--pareto", "--seeds", "interval"]
    assert main([*more, str(curves_log), "-o", str(path)]) == 0
    return path.read_text(encoding="utf-8")


def views(report):
    """HTML of each view, by its title."""
    titles = re.findall(r'<option value="\d+">(.*?)</option>', report)
    first = report.split('id="tf-view"')[1].split("<!-- others -->")[0]
    others = re.findall(r"<template.*?</template>", report, re.S)
    return dict(zip(titles, [first, *others]))


def figures(view):
    """The figure of a view on light and on dark paper."""
    data = r'<script type="application/json">(.*?)</script>'
    return json.loads(re.search(data, view)[1])


def written(report):
    """A report without Plotly's library."""
    library = pathlib.Path(plotly_path()).read_text(encoding="utf-8")
    assert library in report
    return report.replace(library, "")


def test_a_report_needs_nothing_else(report):
    report = written(report)
    assert not re.search(r'(src|href)="(?!data:)', report)
    assert not re.search(r"https?://|@import|url\(", report)
    assert len(report) < 1_000_000
    assert "data:image/jpeg;base64," in report
    # What people wrote is text.
    assert "<b onclick" not in report and "&lt;b onclick" in report


def test_a_report_says_what_made_it(report):
    made = re.search(r"<p>Made on (.*?)</p>", report)[1]
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC by tfcap ", made)
    asked = r"tfcap-report logs\d+ --seeds interval --preset table2"
    assert re.search(asked, made)
    assert "--pareto" in made and "&#x27;Luo et al. 2018&#x27;" in made
    assert re.search(r"8 runs of the log directory logs\d+\.", report)


def test_a_report_has_the_figures_tables_and_line_of_the_tab(report):
    shown = views(report)
    assert list(shown)[0] == "Table 2"
    assert {"Figure 3 (a-f)", "mean rank against BLEU-4"} <= set(shown)
    first = shown["Table 2"]
    assert "CIDEr-D = 1.2" in first and "at the last crossing along" in first
    assert "interval of the mean by Student" in first
    # The line, and the front.
    light, dark = figures(first)
    assert light["layout"]["shapes"][0]["x0"] == 1.2
    papers = [one["layout"]["paper_bgcolor"] for one in (light, dark)]
    assert papers == ["#ffffff", "#1f2328"]
    assert "pareto" in {trace["meta"]["kind"] for trace in light["data"]}
    assert "<td>Luo et al. 2018</td>" not in report
    groups = {trace.get("legendgroup") for trace in light["data"]}
    assert "PSST Multinomial" in groups and "Luo et al. 2018" not in groups
    # Tables are those of the figure beside them.
    turned = shown["mean rank against BLEU-4"]
    assert "BLEU-4 =" in turned and "CIDEr-D =" not in turned
    assert "lower recall@1" in shown["recall@1 against CIDEr-D"]


def test_a_report_tells_why_there_is_none(curves_log, tmp_path, capsys):
    with TradeoffWriter(tmp_path / "log", "mine") as writer:
        writer.point(0, {"r@10": 1.0})
    (tmp_path / "empty").mkdir()
    out, one_metric = tmp_path / "a.html", "must hold runs that have two"
    for arguments, told in (
        *(([tmp_path / name], one_metric) for name in ("empty", "log")),
        ([tmp_path / "none"], "must be a folder"),
        ([curves_log, "--seeds", "all"], "tfcap-report: `seeds` must be"),
        ([curves_log, "--x", "nope"], "tfcap-report: `x` must be"),
    ):
        assert main([*map(str, arguments), "-o", str(out)]) == 2
        assert told in capsys.readouterr().err
    assert not out.exists()


def test_a_report_says_which_captions_it_has(tmp_path):
    for seed, steps in enumerate(((), (1,), (2,))):
        with TradeoffWriter(tmp_path / str(seed), "mine", seed=seed) as log:
            log.point(2, {"cider_d": 1.0, "r@10": 50.0})
            for step in steps:
                log.samples(step, said(f"seed {seed}"))
    out = tmp_path / "a.html"
    assert main([str(tmp_path), "-o", str(out)]) == 0
    report = out.read_text()
    assert "<summary>Captions: mine, seed 1, step 1</summary>" in report
    assert "seed 1&lt;/b&gt; 7" in report and "seed 1&lt;/b&gt; 8" not in report
    assert "<p>Only the first 8 of 10 captions.</p>" in report


def test_a_report_is_there_whole_or_as_it_was(
    curves_log, tmp_path, monkeypatch
):
    out = tmp_path / "a.html"
    out.write_text("before")
    bad = lambda *_: ["\ud800"]  # noqa: E731
    monkeypatch.setattr("tensorboard_plugin_tfcap.report.choice_html", bad)
    assert main([str(curves_log), "-o", str(out)]) == 2
    assert out.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_a_report_is_refused_or_stopped_at_once(tmp_path, monkeypatch, capsys):
    # Before a log is read, that may take minutes.
    for out in (tmp_path / "none" / "a.html", tmp_path):
        assert main(["nowhere", "-o", str(out)]) == 2
        said = capsys.readouterr().err
        assert f"'{out}'" in said and "nowhere" not in said

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tensorboard_plugin_tfcap.report.read_log", stop)
    assert main([str(tmp_path), "-o", str(tmp_path / "a.html")]) == 130
    assert capsys.readouterr().err == "tfcap-report: interrupted.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"preset": "fig3"},
        {"seeds": "band", "labels": False},
        {"seeds": "interval", "dark": True},
        {"refs": True, "pareto": True, "along": "y", "value": 70.0},
        {"x": "mean_rank", "y": "r@1", "pareto": True, "at": "best"},
    ],
)
def test_a_notebook_shows_the_figure_and_its_tables(curves_log, chosen):
    found = tfcap.show_tradeoff(curves_log, **chosen)
    figure, page = found.plotly(), found._repr_html_()
    assert isinstance(figure, go.Figure) and figure.layout.height > 300
    assert "Plotly.newPlot" in page
    assert not re.search(r'<script[^>]+src="http', page)
    for trace in figure.data:
        if trace.customdata is not None:
            assert len(trace.text) == len(trace.x)
    for table in found.tables:
        assert table.head[-1] in page


def test_a_notebook_has_room_for_the_figure_and_knows_its_options(curves_log):
    found = tfcap.show_tradeoff(curves_log, hide="Luo et al. 2018")
    titles = {table.rows[0][0] for table in found.tables if table.rows}
    assert "Luo et al. 2018" not in titles
    panels = tfcap.show_tradeoff(curves_log, preset="fig3").plotly().layout
    assert max(panels.yaxis2.range) < 80
    assert "Labels" not in panels.legend.title.text
    with pytest.raises(TypeError, match="Received: colour, paretto"):
        tfcap.show_tradeoff(curves_log, paretto=True, colour=1)


def test_the_report_draws_by_default_what_the_page_does(curves_log):
    text = re.search(
        r"const USUAL = \{(.*?)\}", (STATIC / "state.js").read_text()
    )
    usual = dict(re.findall(r'(\w+): "(\w+)"', text[1]))
    assert usual.pop("along") == "x"
    assert usual == options.USUAL
    assert show_tradeoff(curves_log).shown.view["line"] is not None
    assert show_tradeoff(curves_log, value="off").shown.view["line"] is None


def test_a_preset_draws_its_own_line(curves_log):
    found = show_tradeoff(curves_log, preset="table1", y="r@10")
    assert found.shown.view["line"]["value"] == 80.0
    assert found.tables[0].title.startswith("naturalness at")


def test_all_options_of_the_page_are_options_of_the_report(tmp_path):
    asked = re.search(
        r"const ASKED = \[(.*?)\]", (STATIC / "state.js").read_text(), re.S
    )
    names = set(re.findall(r'"(\w+)"', asked[1]))
    query = options.asked_query({"value": 3})
    assert names <= set(vars(query)) and query.value == 3.0
    words = options.command_words({"pareto": True, "hide": ["a", "b"]})
    assert words == ["--pareto", "--hide", "a", "--hide", "b"]


def test_a_report_of_a_figure_that_cannot_be_drawn(curves_log, tmp_path):
    path = tmp_path / "report.html"
    write_report(path, curves_log, preset="fig3", value="off")
    first = next(iter(views(path.read_text()).values()))
    assert "(b) CIDEr-D" in first and "absent: no method" in first
