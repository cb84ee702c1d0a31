"""Files of studies tell whether they are as they were written."""

import json
import os

import numpy as np
import pytest

from reproduce.study import Study
from reproduce.study import read_written
from reproduce.study import write_json
from reproduce.world.features import cached_array


def test_findings_carry_a_checksum_that_a_changed_number_does_not_fit(tmp_path):
    path = tmp_path / "result.json"
    write_json(path, {"r@10": 55.25})
    assert read_written(path) == {"r@10": 55.25}
    text = path.read_text()
    again = "result.json'.*Move it elsewhere: it is made again"
    for damaged in (text.replace("55.25", "95.25"), text[:-9], ""):
        path.write_text(damaged)
        with pytest.raises(ValueError, match=again) as found:
            read_written(path)
        assert "ownload" not in str(found.value)
    # As they were written before there were checksums.
    for older in ({"r@10": 55.25}, ["speaker"]):
        path.write_text(json.dumps(older))
        assert read_written(path) == older


def test_what_a_study_is_about_may_be_removed_and_is_written_again(tmp_path):
    about = {"settings": {"rate": 0.5}, "seed": 0}
    assert Study(tmp_path, about).about == about
    path = tmp_path / "study.json"
    path.write_text(path.read_text().replace("0.5", "0.6"))
    with pytest.raises(ValueError, match="study.json'.*Move it"):
        Study(tmp_path, about)
    os.unlink(path)
    assert Study(tmp_path, about).about == about
    assert Study(tmp_path, about).about == about


def test_features_that_are_kept_are_read_unless_they_are_damaged(tmp_path):
    path, made = tmp_path / "features.npy", np.arange(600.0).reshape(2, 300)
    cached_array(path, lambda: made)
    np.testing.assert_array_equal(cached_array(path, None), made)
    data = path.read_bytes()
    for damaged in (data[:-1], data[:70], b""):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="Move it elsewhere: it is made"):
            cached_array(path, None)
    with pytest.raises(IsADirectoryError):
        cached_array(tmp_path, None)
