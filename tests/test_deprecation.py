"""What is deprecated says so, and goes when its time is over."""

import ast
import pathlib

import pytest

import tfcap
from tfcap._deprecation import removal
from tfcap._deprecation import warn_deprecated

ROOT = pathlib.Path(__file__).parents[1]


def overdue(source, version):
    """Versions since which a source deprecates what should be gone."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name == "warn_deprecated":
                values = {k.arg: k.value.value for k in node.keywords if k.arg}
                if numbers(removal(values["since"])) <= numbers(version):
                    found.append(values["since"])
    return found


def numbers(version):
    return tuple(map(int, version.split(".")[:2]))


def test_the_warning_points_at_the_caller_and_names_the_way_on():
    def old():
        warn_deprecated("`old()`", "`new()`", since="0.2.0")

    with pytest.warns(FutureWarning, match=r"goes with 0\.4\.0\. Use `new"):
        old()
    with pytest.warns(FutureWarning) as caught:
        old()
    assert caught[0].filename == __file__


def test_what_outlives_its_period_is_found():
    source = 'def old():\n    warn_deprecated("a", "b", since="0.2.0")\n'
    assert overdue(source, "0.3.0") == []
    assert overdue(source, "0.4.0") == ["0.2.0"]
    assert overdue(source, "1.0.0") == ["0.2.0"]


def test_nothing_outlives_its_period():
    found = {}
    for package in ("tfcap", "tensorboard_plugin_tfcap"):
        for path in (ROOT / package).rglob("*.py"):
            source = path.read_text()
            if "warn_deprecated" in source and path.stem != "_deprecation":
                found[str(path)] = overdue(source, tfcap.__version__)
    assert not {path: since for path, since in found.items() if since}
