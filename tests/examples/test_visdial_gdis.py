from unittest import mock

from reproduce.visdial import ROWS
from reproduce.visdial import SETTINGS
from reproduce.visdial import command
from reproduce.visdial.rows import needed
from tests.examples.conftest import load


def test_a_row_of_ones_own_is_trained_where_it_is_named():
    with mock.patch.dict(ROWS):
        load("visdial_gdis")
        assert "lf_g_dis" not in command.parse([]).rows
        assert command.parse(["--rows", "lf_g_dis"]).rows == ["lf_g_dis"]
        needs = needed("lf_g_dis", SETTINGS["quick"])
        assert needs == ("lf_g", "hciae_d_np_att")
