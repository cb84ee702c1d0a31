import pytest

from reproduce.experiment import Experiment
from tests.eager import run_eagerly


@pytest.fixture(scope="module")
def eagerly():
    """A dozen steps cost less than the graphs that would run them."""
    with run_eagerly():
        yield


@pytest.fixture
def untrained(monkeypatch):
    """Nothing is trained from here on."""

    def never(*args, **options):
        raise RuntimeError("trained again")

    monkeypatch.setattr(Experiment, "fit", never)
