"""The reason why a score is missing, and where scores find their files."""

import importlib.util
import pathlib
from typing import NamedTuple


class MissingScore(NamedTuple):
    """A score that could not be had, by name, and what to do about it."""

    name: str  # as papers print it
    reason: str  # a clause
    hint: str  # a sentence

    def __str__(self):
        return f"{self.name} is absent: {self.reason}. {self.hint}"


class MissingScoreError(RuntimeError):
    """A score that could not be had.

    A report keeps the parts, to name what is absent.

    Args:
        name: String, what is absent, such as `"METEOR"`.
        reason: String, a clause that says why.
        hint: String, a sentence that says what to do.

    Example:

    >>> raise tfcap.text.MissingScoreError("METEOR", "it is not here", "Get it")
    Traceback (most recent call last):
    ...
    tfcap.text.missing_score.MissingScoreError: METEOR is absent: it is ...
    """

    def __init__(self, name: str, reason: str, hint: str):
        super().__init__(name, reason, hint)
        self.missing_score = MissingScore(name, reason, hint)
        self.name, self.reason, self.hint = self.missing_score

    def __str__(self):
        return str(self.missing_score)


def find_package(name: str) -> pathlib.Path:
    """Finds the folder of pycocoevalcap, without importing it.

    Raises:
        MissingScoreError: If it is not installed.
    """
    spec = importlib.util.find_spec("pycocoevalcap")
    for candidate in spec.submodule_search_locations or () if spec else ():
        return pathlib.Path(candidate)
    raise MissingScoreError(
        name,
        "the package pycocoevalcap, which holds its files, is not installed",
        "Install it: pip install pycocoevalcap, or pip install 'tfcap[coco]'.",
    )


def find_file(name: str, path: pathlib.Path) -> pathlib.Path:
    """Refuses a path that is no file.

    Raises:
        MissingScoreError: If there is no such file.
    """
    if not path.is_file():
        raise MissingScoreError(
            name,
            f"{str(path)!r} is missing",
            "Install pycocoevalcap again: pip install --force-reinstall "
            "pycocoevalcap.",
        )
    return path
