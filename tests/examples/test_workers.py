import pathlib
import re
import sys
from unittest import mock

import pytest

from reproduce import visdial
from tests.examples.conftest import FOLDER
from tests.examples.conftest import load

NAMES = sorted(
    path.stem
    for path in FOLDER.glob("*.py")
    if re.search("run_as_workers|run_example", path.read_text())
)


class Became(Exception):
    """Ends a process that would become another one."""


@pytest.mark.parametrize("name", NAMES)
def test_workers_are_started_by_the_launcher(name, monkeypatch):
    def execute(program, command):
        raise Became(command[1:])

    monkeypatch.setattr("os.execv", execute)
    # As good as none.
    monkeypatch.setenv("TF_CONFIG", "")
    # An example adds a row of its own.
    with mock.patch.dict(visdial.ROWS):
        example = load(name)
        for more in [], ["--trusted-network"]:
            options = ["--workers", "2", *more]
            with pytest.raises(Became) as became:
                example.main(options)
            (command,) = became.value.args
            path = command[command.index("--") + 2]
            assert pathlib.Path(path).resolve() == FOLDER / f"{name}.py"
            launcher = ["-m", "tfcap.launch", *options]
            assert command == [*launcher, "--", sys.executable, path, *options]


def test_all_examples_that_train_for_long_are_tried():
    assert len(NAMES) == 6, NAMES
