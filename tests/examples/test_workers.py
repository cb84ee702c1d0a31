import importlib.util
import pathlib
import re
import sys
from unittest import mock

import pytest

from reproduce import visdial

FOLDER = pathlib.Path(__file__).parents[2] / "examples"
NAMES = sorted(
    path.stem
    for path in FOLDER.glob("*.py")
    if {"program", "run_example"} & {*re.findall(r"\w+", path.read_text())}
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


def test_workers_are_started_by_the_launcher(example, monkeypatch):
    class Became(Exception):
        pass

    def execute(program, command):
        raise Became(command[1:])

    monkeypatch.setattr("os.execv", execute)
    for more in [], ["--trusted-network"]:
        options = ["--workers", "2", *more]
        with pytest.raises(Became) as became:
            example.main(options)
        (command,) = became.value.args
        path = command[command.index("--") + 2]
        assert pathlib.Path(path).resolve() == pathlib.Path(example.__file__)
        launcher = ["-m", "tfcap.launch", *options]
        assert command == [*launcher, "--", sys.executable, path, *options]


def test_all_examples_that_train_for_long_are_tried():
    assert len(NAMES) == 6, NAMES
