import importlib.util
import pathlib
import re
from unittest import mock

import pytest

from reproduce import visdial

FOLDER = pathlib.Path(__file__).parents[2] / "examples"
NAMES = sorted(
    path.stem
    for path in FOLDER.glob("*.py")
    if {"launch_script", "program", "run_example"}
    & {*re.findall(r"\w+", path.read_text())}
)


@pytest.fixture(params=NAMES)
def example(request, monkeypatch):
    # As good as none.
    monkeypatch.setenv("TF_CONFIG", "")
    path = FOLDER / f"{request.param}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    # An example adds a row of its own.
    with mock.patch.dict(visdial.ROWS):
        spec.loader.exec_module(module)
        yield module


def test_workers_start_alone_or_on_a_network_that_is_trusted(
    example, monkeypatch, capsys
):
    def none_to_give():
        raise OSError("none to give")

    monkeypatch.setattr("tfcap.launch.NetworkNamespace", none_to_give)
    assert example.main(["--workers", "2"]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("error: `--trusted-network` must be given")
    assert "none to give" in told.err and not told.out
    assert example.main(["--workers", "-1"]) == 2
    assert "error: `--workers` must be at least 1" in capsys.readouterr().err
    started = []

    def launch(command, workers, trusted_network):
        started.append((command[1:], workers, trusted_network))
        return 77

    monkeypatch.setattr("tfcap.launch.launch", launch)
    options = ["--workers", "2", "--trusted-network"]
    assert example.main(options) == 77
    ((path, *given), workers, trusted) = started[0]
    assert pathlib.Path(path).resolve() == pathlib.Path(example.__file__)
    assert (given, workers, trusted, len(started)) == (options, 2, True, 1)


def test_all_examples_that_train_for_long_are_tried():
    assert len(NAMES) == 6, NAMES
