import os
import pathlib

import hypothesis
import pytest

# A busy machine is no failure.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared_data():
    """Folder with real data, which is no part of the project."""
    path = pathlib.Path(
        os.environ.get("TFCAP_DATA") or ROOT.parent / "shared" / "data"
    )
    if not path.is_dir():
        pytest.skip("needs real data; set TFCAP_DATA to their folder")
    return path
