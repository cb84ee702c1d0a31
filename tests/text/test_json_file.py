import gzip
import json
import os
import threading

import pytest

from tfcap.text import json_file
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
        ("", "there is nothing. A pipe can be read once"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, content, told):
    with pytest.raises(ValueError, match=f"a.json', where.*{told}"):
        read_json(written(tmp_path, content))


def piped(path, data):
    """A pipe that gives some bytes to whoever opens it first."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    return path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_once(tmp_path, pack):
    content = ["a dog"] * 20_000
    data = pack(json.dumps(content).encode())
    assert read_json(piped(tmp_path / "pipe", data)) == content


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(json_file, "_STREAM_LIMIT", 5)
    assert read_json(piped(tmp_path / "a", b"[1,2]")) == [1, 2]
    with pytest.raises(ValueError, match="more than 5 bytes. Write them to"):
        read_json(piped(tmp_path / "b", b"[1,22]"))
    assert read_json(written(tmp_path, "[1,2222]")) == [1, 2222]
