import io
import os
import zipfile

import numpy as np
import pytest

from tests.faults.mutations import damage
from tfcap._io import load_arrays
from tfcap._io import save_arrays

ARRAYS = {"rows": np.arange(6).reshape(2, 3), "name": np.array("caf\u00e9")}


@pytest.mark.parametrize("compressed", [True, False])
def test_arrays_come_back_and_numpy_reads_them_too(tmp_path, compressed):
    path = tmp_path / "a.npz"
    save_arrays(path, ARRAYS, compressed)
    with np.load(path) as file:
        for found in (load_arrays(path, ["rows"]), file):
            assert {*found} == {*ARRAYS}
            for name, value in ARRAYS.items():
                np.testing.assert_array_equal(found[name], value)
    assert os.listdir(tmp_path) == ["a.npz"]


#: Of some kilobytes: NumPy has its header before its checksum is compared.
LARGE = {"many": np.arange(600)}


def test_damage_of_any_kind_shows(tmp_path):
    path = tmp_path / "a.npz"
    save_arrays(path, LARGE)
    for _ in damage(path):
        try:
            found = load_arrays(path, LARGE)
        except ValueError:
            continue
        # The date of a part, perhaps, which nobody reads.
        assert (found["many"] == LARGE["many"]).all()


def test_arrays_that_are_absent_and_objects_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    save_arrays(path, ARRAYS)
    with pytest.raises(ValueError, match="it holds no columns"):
        load_arrays(path, ["rows", "columns"])
    # Objects would have to be unpickled, which runs what is in the file.
    save_arrays(path, {"rows": np.array([object], object)})
    with pytest.raises(ValueError, match="Object arrays"):
        load_arrays(path)


def test_fewer_rows_in_a_header_show(tmp_path):
    path = tmp_path / "a.npz"
    save_arrays(path, ARRAYS)
    # NumPy believes it.
    path.write_bytes(path.read_bytes().replace(b"(2, 3)", b"(1, 3)"))
    with pytest.raises(ValueError, match="cut off, damaged.*of rows.npy"):
        load_arrays(path)


def test_archives_that_would_fill_the_memory_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    save_arrays(path, {"rows": np.zeros(70 << 20, "i1")}, compressed=True)
    assert load_arrays(path)["rows"].shape == (70 << 20,)
    monkeypatch.setenv("TFCAP_MAX_BYTES", str(64 << 20))
    with pytest.raises(ValueError, match="more than 67.*TFCAP_MAX_BYTES"):
        load_arrays(path)


def test_an_array_that_is_larger_than_its_part_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    header = io.BytesIO()
    about = {"shape": (1 << 40,), "fortran_order": False, "descr": "<f4"}
    np.lib.format.write_array_header_1_0(header, about)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rows.npy", header.getvalue())
    with pytest.raises(ValueError, match="cut off, damaged"):
        load_arrays(path)
