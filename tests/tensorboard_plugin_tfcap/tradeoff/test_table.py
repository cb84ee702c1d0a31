import shutil
import subprocess

import pytest

from tensorboard_plugin_tfcap.tradeoff import TradeoffTable

TABLE = TradeoffTable(
    "Table 9",
    "recall (%) of a_b & c",
    ["", "R@1", "\u03bb"],
    [["PSST", "38.1 [37.0, 39.2]", "0.001"], ["ST \u03c1 = 0", "-", "1e-05"]],
    ["Found on: x_y.", "Nothing else."],
)


def test_a_terminal_shows_columns_and_notes():
    assert str(TABLE).splitlines() == [
        "Table 9: recall (%) of a_b & c",
        "",
        "                        R@1      \u03bb",
        "-" * 34,
        "PSST      38.1 [37.0, 39.2]  0.001",
        "ST \u03c1 = 0                  -  1e-05",
        "",
        "Found on: x_y.",
        "Nothing else.",
    ]


def test_markdown_has_its_signs():
    lines = TABLE.markdown().splitlines()
    assert lines[0] == "Table 9: recall (%) of a_b & c" and lines[1] == ""
    assert lines[3] == f"|{'-' * 10}|{'-' * 18}:|{'-' * 6}:|"
    assert lines[4] == "| PSST     | 38.1 [37.0, 39.2] | 0.001 |"
    assert lines[-2:] == ["- Found on: x_y.", "- Nothing else."]


def test_latex_is_escaped_and_counts_for_itself():
    lines = TABLE.latex().splitlines()
    assert lines[2] == (
        r"\caption{Recall (\%) of a\_b \& c. Found on: x\_y. Nothing else.}"
    )
    assert lines[3] == r"\begin{tabular}{lrr}"
    assert lines[5] == r" & R@1 & $\lambda$ \\"
    assert lines[7] == r"PSST & 38.1 [37.0, 39.2] & 0.001 \\"
    assert lines[8] == r"ST $\rho$ = 0 & - & 1e-05 \\"
    assert "Table 9" not in TABLE.latex()


def test_a_table_without_rows_or_notes_is_one():
    empty = TradeoffTable("Table 9", "nothing", ["", "R@1"], [], [])
    assert str(empty).splitlines() == ["Table 9: nothing", "", "  R@1", "-----"]
    assert empty.markdown().splitlines()[-1].startswith("|-")
    assert r"\midrule" in empty.latex()


def test_latex_has_no_letter_that_it_does_not_know():
    signs = TradeoffTable("T", "\\ {x} ~^ #1 $2", ["a", "b"], [], []).latex()
    assert (
        r"\caption{\textbackslash{} \{x\} \textasciitilde{}"
        r"\textasciicircum{} \#1 \$2.}"
    ) in signs
    row = ["\u0394 \u4e2d <b> caf\xe9", "-0.5 [-1.0, 1e-05]", "-"]
    table = TradeoffTable("T", "t \u2191", ["a", "b", "c"] * 3, [row * 3], [])
    text = table.latex()
    cells = "$\\Delta$ [U+4E2D] $<$b$>$ caf\xe9 & $-$0.5 [$-$1.0, 1e-05]"
    assert cells in text
    # A row that begins with a bracket is no option of the line above.
    odd = TradeoffTable("T", "t", ["a"], [["\u4e2d"], ["*"]], []).latex()
    assert "{}[U+4E2D] " in odd and "{}* " in odd
    assert r"\caption{T $\uparrow$.}" in text and r"\scriptsize" in text
    assert max(text) <= "\xff"


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
def test_latex_compiles(tmp_path):
    letters = "".join(map(chr, (*range(32, 127), *range(0xA0, 0x460))))
    rows = [[letters[i : i + 20], "1"] for i in range(0, len(letters), 20)]
    rows += [["\U0001f600", "\u2191 \u00b1 \u2212"]]
    table = TradeoffTable(
        "T", "# \u03bb", ["", "\u0394"], rows, ["\u2264 1 %."]
    )
    head = r"\documentclass{article}\usepackage{booktabs}\begin{document}"
    source = f"{head}\n{table.latex()}\n\\end{{document}}\n"
    (tmp_path / "a.tex").write_text(source, encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "a.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
