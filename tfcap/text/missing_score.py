"""The reason why a score is missing, and where scores find their files."""

import importlib.util
import pathlib


class MissingScoreError(RuntimeError):
    """An error that says why a score could not be computed.

    Args:
        name: String, the missing score, such as `"METEOR"`.
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
        self.name, self.reason, self.hint = name, reason, hint

    def __str__(self):
        return f"{self.name} is absent: {self.reason}. {self.hint}"


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


def find_file(name: str, *parts: str) -> pathlib.Path:
    """Finds a file of pycocoevalcap.

    Args:
        name: String, the score that is absent without it.
        *parts: Strings, folders within the package and the name of the file.

    Raises:
        MissingScoreError: If the package or the file is missing.
    """
    path = find_package(name).joinpath(*parts)
    if not path.is_file():
        raise MissingScoreError(
            name,
            f"{str(path)!r} is missing",
            "Install pycocoevalcap again: pip install --force-reinstall "
            "pycocoevalcap.",
        )
    return path
