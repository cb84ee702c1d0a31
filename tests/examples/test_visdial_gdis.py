import importlib.util
import pathlib
from unittest import mock

from reproduce.visdial import ROWS
from reproduce.visdial import SETTINGS
from reproduce.visdial import command
from reproduce.visdial.rows import needed

PATH = pathlib.Path(__file__).parents[2] / "examples" / "visdial_gdis.py"


def test_a_row_of_ones_own_is_trained_where_it_is_named(capsys):
    spec = importlib.util.spec_from_file_location("visdial_gdis", PATH)
    example = importlib.util.module_from_spec(spec)
    with mock.patch.dict(ROWS):
        spec.loader.exec_module(example)
        assert "lf_g_dis" not in command.parse([]).rows
        assert command.parse(["--rows", "lf_g_dis"]).rows == ["lf_g_dis"]
        needs = needed("lf_g_dis", SETTINGS["quick"])
        assert needs == ("lf_g", "hciae_d_np_att")
        files = [
            "--data",
            "visdial",
            "--root",
            "nowhere",
            "--out",
            "/dev/null/x",
        ]
        assert example.main(files) == 2
    assert "error: `path`" in capsys.readouterr().err
