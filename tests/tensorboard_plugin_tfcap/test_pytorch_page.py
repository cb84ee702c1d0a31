import pathlib
import re
import sys
from unittest.mock import MagicMock

from tensorboard_plugin_tfcap.notebook import show_tradeoff

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "pytorch.md"


def test_the_loop_of_the_page_writes_points(tmp_path, monkeypatch):
    """Any number for torch's: what is tried is what the loop writes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", MagicMock())
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)[1]
    assert len(block.splitlines()) <= 33
    exec(block, {"__name__": "__main__"})
    shown = show_tradeoff("logs/pytorch", x="entropy", y="accuracy").shown
    (mean,) = {row["method"] for row in shown.view["rows"]}
    assert mean == "bonus" and len(shown.view["rows"]) == 4
    assert {row["seeds"] for row in shown.view["rows"]} == {3}
    assert {point.step for point in shown.selection.dataset.points} == {60}
