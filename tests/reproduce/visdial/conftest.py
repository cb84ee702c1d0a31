import pytest

from tests.eager import run_eagerly


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    # A few steps cost less than the graphs that would run them.
    with run_eagerly():
        yield
