import pytest

from tests.tensorboard_plugin_tfcap.serving import write_curves


@pytest.fixture(scope="session")
def curves_log(tmp_path_factory):
    """A small sweep of two methods, to be read only."""
    return write_curves(tmp_path_factory.mktemp("logs"))
