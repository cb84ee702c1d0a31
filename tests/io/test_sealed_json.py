import json

import pytest

from tfcap.io import read_sealed
from tfcap.io import sealed


def test_what_was_written_comes_back(tmp_path):
    path = tmp_path / "a.json"
    content = {"b": [1.5e-7, None, "caf\u00e9"], "a": {"2": True}}
    path.write_text(json.dumps(sealed(content), indent=1))
    assert read_sealed(path, "Mend it.") == content
    # A tuple and a number for a name are what JSON makes of them.
    path.write_text(json.dumps(sealed({"a": (1, 2), 3: 4})))
    assert read_sealed(path, "Mend it.") == {"a": [1, 2], "3": 4}


def test_a_change_shows_and_older_files_have_none(tmp_path):
    path = tmp_path / "a.json"
    text = json.dumps(sealed({"r@10": 55.0}))
    path.write_text(text.replace("55.0", "56.0"))
    with pytest.raises(ValueError, match="a.json'.*than was written.*Mend it"):
        read_sealed(path, "Mend it.")
    for content in ({"r@10": 55.0}, ["speaker"]):
        path.write_text(json.dumps(content))
        assert read_sealed(path, "Mend it.") == content
