import gzip
import json

import pytest

from tfcap.text.json_file import read_json


def written(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_what_json_allows_is_read(tmp_path, encoding):
    content = {"caf\u00e9 \U0001f436": [1, None, "a\\ud83d"], "b": {"b": 2}}
    for plain in (True, False):
        data = json.dumps(content, ensure_ascii=plain).encode(encoding)
        assert read_json(written(tmp_path, data)) == content
        assert read_json(written(tmp_path, gzip.compress(data))) == content


@pytest.mark.parametrize(
    "content, told",
    [
        (
            '[{"a": 1, "b": 2, "a": 3}]',
            "the object of .* name 'a' is there",
        ),
        ('["a",\n "\\ud83d"]', "line 2, column 3 there is half of a character"),
        ('["\\udc36\\ud83d"]', "line 1, column 3 there is half"),
        (b'["\xed\xa0\xbd"]', "line 1 the text is not UTF-8"),
        ("[" * 100_000, "damaged .maximum recursion"),
        ("[" + "9" * 5000 + "]", "damaged .Exceeds the limit"),
        ('{"a": ', "cut off or damaged"),
        ("", "cut off or damaged"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, content, told):
    with pytest.raises(ValueError, match=f"a.json', where.*{told}"):
        read_json(written(tmp_path, content))
