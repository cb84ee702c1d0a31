import pytest

from reproduce.psst.curves import main
from reproduce.sweep import Sweep
from tests.reproduce.captioning.tiny_records import RECORDS

NAMES = ("method", "lambda", "seed", "rho")


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A folder in which the tiny records have been found."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    grid = [{k: r[k] for k in NAMES if k in r} for r in RECORDS]
    found = iter(RECORDS)
    Sweep(folder, lambda settings, _: next(found), grid, verbose=0).work()
    return folder


def test_tables_are_printed_and_figures_drawn(swept, tmp_path, capsys):
    figures = [str(tmp_path / name) for name in ("a.png", "b.svg")]
    flags = [x for path in figures for x in ("--figure", path)]
    assert main([str(swept), *flags, "--cider", "1.1"]) == 0
    said = capsys.readouterr().out
    assert "Table 2: recall (%) at CIDEr-D = 1.1" in said
    assert "Found on: tiny." in said
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "form, sign", [("markdown", "\n|---"), ("latex", r"\toprule")]
)
def test_tables_come_in_other_forms(swept, capsys, form, sign):
    assert main([str(swept), "--form", form, "--data", "photographs"]) == 0
    said = capsys.readouterr().out
    assert said.count(sign) == 6 and "Found on: photographs." in said


def test_other_operating_points_can_be_asked_for(swept, capsys):
    flags = ["--recall", "67", "--ablation-cider", "1.05", "--rho", "0.5"]
    assert main([str(swept), *flags]) == 0
    said = capsys.readouterr().out
    assert "recall@5 = 67 %" in said
    assert "human captions below; recall (%) at CIDEr-D = 1.05" in said


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--rho", "0.3"], "`rho` must be one that"),
        (["--figure", "curve.jpg"], "`path` must end in"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(swept, capsys, flags, message):
    assert main([str(swept), *flags]) == 2
    streams = capsys.readouterr()
    assert streams.out == "" and streams.err.startswith("tradeoff: ")
    assert message in streams.err


def test_a_folder_without_a_sweep_is_refused(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "without a record in points.jsonl" in capsys.readouterr().err
