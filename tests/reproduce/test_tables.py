import json

import pytest

from reproduce.command import main
from tests.reproduce.captioning.tiny_records import RECORDS

NAMES = ("method", "lambda", "seed", "rho")


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A folder in which the tiny records have been found."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    folder.mkdir()
    lines = [
        json.dumps(
            {
                "settings": {k: v for k, v in record.items() if k in NAMES},
                "result": {k: v for k, v in record.items() if k not in NAMES},
            }
        )
        for record in RECORDS
    ]
    (folder / "points.jsonl").write_text("\n".join(lines))
    return str(folder)


def test_tables_are_printed_and_figures_drawn(swept, tmp_path, capsys):
    figure = tmp_path / "a.svg"
    assert main(["tables", "psst", swept, "--figure", str(figure)]) == 0
    said = capsys.readouterr().out
    assert "Found on: tiny." in said and said.count("\n|---") == 6
    assert figure.read_text().startswith("<?xml")


@pytest.mark.parametrize("form, sign", [("text", "Table 2"), ("latex", "rule")])
def test_tables_come_in_other_forms(swept, capsys, form, sign):
    words = ["--form", form, "--data", "photographs", "--rho", "0.5"]
    assert main(["tables", "psst", swept, *words]) == 0
    said = capsys.readouterr().out
    assert sign in said and "Found on: photographs." in said


@pytest.mark.parametrize(
    "words, message",
    [
        (["--rho", "0.3"], "`rho` must be one that"),
        (["--figure", "curve.jpg"], "`path` must end in"),
    ],
)
def test_what_cannot_be_done_is_an_error_in_words(
    swept, capsys, words, message
):
    assert main(["tables", "psst", swept, *words]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_points_is_an_error_in_words(tmp_path, capsys):
    assert main(["tables", "sle", str(tmp_path)]) == 2
    assert "must be of a sweep with a point" in capsys.readouterr().err
