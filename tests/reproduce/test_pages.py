import collections
import json
import re
import shlex

import pytest

from reproduce import pages
from reproduce.command import PAPERS
from reproduce.command import main
from reproduce.command import open_paper
from reproduce.options import asked_grid
from reproduce.options import sweep_parser
from reproduce.sweep import expand_grid
from reproduce.sweep import settings_key

RESULTS = pages.ROOT / "results"


def page(name):
    (path,) = pages.ROOT.glob(f"reproduce/**/{name}/README.md")
    return path


@pytest.mark.parametrize("name", pages.commands())
def test_tables_are_what_their_records_make(name):
    written = pages.tables_path(name).read_text(encoding="utf-8")
    assert pages.tables_text(name) == written


@pytest.mark.parametrize(
    "path", pages.pages(), ids=lambda path: str(path.relative_to(pages.ROOT))
)
def test_pages_have_the_numbers_of_the_tables(path):
    text = path.read_text(encoding="utf-8")
    assert pages.filled_page(text) == text


@pytest.mark.parametrize("name", [*PAPERS, "visdial"])
def test_a_page_is_one_screen_and_has_a_table(name):
    text = page(name).read_text(encoding="utf-8")
    assert "<!-- table " in text and "## Decisions" in text
    text = re.sub(r"<!--.*?-->", "", text)
    assert len(re.findall(r"[^\s|:-][^\s|]*", text)) <= 1500


def test_what_differs_is_named_and_written(tmp_path, monkeypatch, capsys):
    path = tmp_path / "README.md"
    mark = "<!-- estimators | Bias | ReinMax-Rao | cost -->"
    path.write_text(f"It costs {mark}9.9<!-- end --> times as much.\n")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "commands", dict)
    monkeypatch.setattr(pages, "pages", lambda: [path])
    monkeypatch.setattr(
        pages,
        "read_tables",
        lambda name: pages.Tables((RESULTS / name / "tables.md").read_text()),
    )
    assert main(["pages", "--check"]) == 1
    assert "README.md differs from its records" in capsys.readouterr().err
    assert main(["pages"]) == 0
    assert path.read_text().count("10.6<!-- end -->") == 1
    path.write_text(path.read_text().replace("Rao", "R"))
    assert main(["pages"]) == 2
    assert "must name one table and row" in capsys.readouterr().err


TABLES = """# a

## x: Gains: of all

|       | λ   |                  R@10 |   rate |
|-------|----:|----------------------:|-------:|
| psst  | 0.1 | **+1.25 [-0.4, +3.0]** | 0.2437 |
| psst  | 0.2 |                  -0.0 | 0.5    |

## x: Gains, beams: of all

| | R@10 |
|-|-----:|
| psst | 7 |
"""


@pytest.mark.parametrize(
    "row, column, old, new",
    [
        ("psst 0.1", "R@10", "9.9 [0.0, 1.0]", "1.3 [-0.4, 3.0]"),
        ("psst 0.1", "R@10", "+9", "+1"),
        ("psst 0.1", "R@10", ".12 [.1, .2]", "1.25 [-.4, 3.0]"),
        ("psst 0.1", "rate", ".9", ".2"),
        ("psst 0.1", "rate in %", "99", "24"),
        ("psst 0.2", "R@10", "0.00", "0.00"),
    ],
)
def test_numbers_keep_their_form(monkeypatch, row, column, old, new):
    monkeypatch.setattr(pages, "read_tables", lambda _: pages.Tables(TABLES))
    mark = f"<!-- a | x: Gains: | {row} | {column} -->"
    text = f"It is {mark}{old}<!-- end -->."
    assert pages.filled_page(text) == f"It is {mark}{new}<!-- end -->."


def test_a_table_has_the_rows_and_columns_of_its_mark(monkeypatch):
    monkeypatch.setattr(pages, "read_tables", lambda _: pages.Tables(TABLES))
    mark = (
        "<!-- table a | x: Gains: | psst 0.1 as PSST; psst 0.2 |\n"
        "rate as share; paper = 3, - -->\n"
    )
    text = pages.filled_page(f"{mark}old<!-- end of table -->")
    assert text.removeprefix(mark).split("\n") == [
        "|          |  share | paper |",
        "|----------|-------:|------:|",
        "| PSST     | 0.2437 |     3 |",
        "| psst 0.2 |    0.5 |     - |",
        "<!-- end of table -->",
    ]


@pytest.mark.parametrize(
    "mark, words",
    [
        ("a | x: Gains | psst 0.1 | rate", "of which there are 2"),
        ("a | x: Gains: | psst | rate", "of which there are 2"),
        ("a | x: Gains: | psst 0.1 | rat", "must name a column"),
        ("a | x: Gains: | psst 0.1", "must be RECORD"),
    ],
)
def test_marks_of_nothing_are_refused(monkeypatch, mark, words):
    monkeypatch.setattr(pages, "read_tables", lambda _: pages.Tables(TABLES))
    with pytest.raises(ValueError, match=words):
        pages.filled_page(f"<!-- {mark} -->1<!-- end -->")


@pytest.mark.parametrize("name", PAPERS)
def test_commands_on_pages_are_understood(name):
    paper = open_paper(name)
    found = re.findall(
        rf"^python -m reproduce {name} (.*?)(?: *#.*)?$",
        page(name).read_text(encoding="utf-8"),
        re.M,
    )
    assert found
    for line in found:
        options = sweep_parser(paper).parse_args(line.split())
        axes = {axis: getattr(options, axis) for axis in paper.axes}
        assert paper.grid(options.methods, options.seeds, **axes)


def points_of(command):
    """Points that a command makes; none of a command that is no sweep."""
    name, *words = shlex.split(command)[3:]
    if not command.startswith("python -m reproduce ") or name not in PAPERS:
        return set()
    paper = open_paper(name)
    grid = asked_grid(paper, sweep_parser(paper).parse_args(words))
    return {settings_key(point) for point in expand_grid(grid)}


def test_no_point_is_left_out_and_none_has_another_origin():
    made = collections.defaultdict(set)
    for name, commands in pages.commands().items():
        made[name].update(*map(points_of, commands))
    names = {name for name, points in made.items() if points}
    assert names == {path.parent.name for path in RESULTS.glob("*/*.jsonl")}
    for name in sorted(names):
        lines = (RESULTS / name / "points.jsonl").read_text().splitlines()
        found = {settings_key(json.loads(x)["settings"]) for x in lines}
        assert found == made[name], name
