"""Notebooks run from top to bottom, at the sizes that they name as tiny."""

import pathlib

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")

FOLDER = pathlib.Path(__file__).parents[1] / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
#: Nothing is left of the notebook before. Without graphs: a trace would take
#: longer than the steps.
FIRST = """
%reset -f
%matplotlib inline
import tensorflow
tensorflow.config.run_functions_eagerly(True)
"""


def tiny(path):
    """A notebook with small numbers in the cell that is tagged so."""
    book = nbformat.read(path, as_version=4)
    cells = [c for c in book.cells if "tiny" in c.metadata]
    assert len(cells) == 1, f"{path.name} must have one cell with tiny sizes"
    cells[0].source = cells[0].metadata["tiny"]
    book.cells.insert(0, nbformat.v4.new_code_cell(FIRST))
    return book


@pytest.mark.slow
def test_notebooks_run(tmp_path):
    assert len(PATHS) >= 3
    # One process for all: importing TensorFlow takes longer than they do.
    manager = jupyter_client.KernelManager()
    try:
        for path in PATHS:
            client = nbclient.NotebookClient(
                tiny(path),
                km=manager,
                timeout=300,
                resources={"metadata": {"path": str(tmp_path)}},
            )
            client.execute()
            client.kc.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebooks_are_kept_with_what_they_print(path):
    book = nbformat.read(path, as_version=4)
    shown = {
        kind
        for cell in book.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        for kind in output.get("data", {"text/plain": ""})
    }
    assert {"image/png", "text/plain"} <= shown
