import re

import pytest

from reproduce import pages
from reproduce.command import PAPERS
from reproduce.command import main
from reproduce.command import open_paper
from reproduce.estimators.registry import ESTIMATORS
from reproduce.sweep_options import sweep_parser


@pytest.mark.parametrize("name", PAPERS)
def test_pages_are_what_the_command_makes(name):
    text = pages.page_path(name).read_text(encoding="utf-8")
    assert text.count("<!-- table ") == text.count("<!-- end of table -->") > 5
    assert pages.filled_page(name, text) == text


def test_a_page_that_differs_is_named_and_written(
    tmp_path, monkeypatch, capsys
):
    path = tmp_path / "README.md"
    whole = pages.page_path("spider").read_text(encoding="utf-8")
    path.write_text(whole.replace("| pg_cider ", "| pg_spider ", 1))
    monkeypatch.setattr(pages, "page_path", lambda name: path)
    assert main(["pages", "spider", "--check"]) == 1
    assert "is not as its records are" in capsys.readouterr().err
    assert main(["pages", "spider"]) == 0
    assert path.read_text(encoding="utf-8") == whole
    path.write_text(whole.replace("SPIDEr: greedy captions -->", "None -->"))
    assert main(["pages", "spider"]) == 2
    assert "must mark tables that there are" in capsys.readouterr().err


def test_a_page_has_its_rows_of_the_sweep_of_all():
    title = "Rows: what strangers find, at the budget of all methods"
    mark = f"<!-- table results/all_world | {title} -->\n"
    page = pages.page_path("sle").read_text(encoding="utf-8")
    page = f"{page}\nHere it is again.\n\n{mark}<!-- end of table -->\n"
    text = pages.filled_page("sle", page).partition("Here it is")[2]
    assert "\n| SLL-SLE " in text and "\n| PPO" not in text


def test_the_page_of_estimators_is_what_its_record_makes():
    text = pages.page_path("estimators").read_text(encoding="utf-8")
    assert text.count("<!-- table ") == text.count("<!-- end of table -->") > 0
    assert pages.filled_page("estimators", text) == text
    for name in ESTIMATORS:
        assert f"| {name} | " in text
    other = text.replace("| Cost -->", "| Costs -->")
    with pytest.raises(ValueError, match="must mark tables that there are"):
        pages.filled_page("estimators", other)


@pytest.mark.parametrize("name", PAPERS)
def test_commands_on_pages_are_understood(name):
    text = pages.page_path(name).read_text(encoding="utf-8")
    text = text.replace("$S", "python -m reproduce psst --out X --seeds 0,1,2")
    paper = open_paper(name)
    found = re.findall(
        rf"^python -m reproduce {name} (.*?)(?: *#.*)?$", text, re.M
    )
    assert found
    for line in found:
        options = sweep_parser(paper).parse_args(line.split())
        axes = {axis: getattr(options, axis) for axis in paper.axes}
        assert paper.grid(options.methods, options.seeds, **axes)
