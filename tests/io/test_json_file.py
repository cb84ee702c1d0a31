import gzip
import json
import os
import threading

import pytest

from tfcap._io import read_json
from tfcap._io import read_lines
from tfcap._io import read_sealed
from tfcap._io import sealed


def written(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_what_json_allows_is_read(tmp_path, encoding):
    content = {"caf\u00e9 \U0001f436": [1, None, "a"], "b": {"b": 2}}
    for plain in (True, False):
        data = json.dumps(content, ensure_ascii=plain).encode(encoding)
        assert read_json(written(tmp_path, data)) == content
        assert read_json(written(tmp_path, gzip.compress(data))) == content


@pytest.mark.parametrize(
    "content, told",
    [
        ('[{"a": 1, "b": 2, "a": 3}]', "a name is repeated in .*'a', 3"),
        ('{"r@10": NaN}', "damaged .NaN is not a number of JSON"),
        ("[1, -Infinity]", "damaged .-Infinity is not a number of JSON"),
        (b'["caf\xe9"]', "damaged .'utf-8' codec can't decode byte 0xe9"),
        ("[1]\n[2]", "damaged .Extra data: line 2 column 1"),
        ("[" * 100_000, "damaged .maximum recursion"),
        ("[" + "9" * 5000 + "]", "damaged .Exceeds the limit"),
        ('{"a": ', "cut off or damaged"),
        ("", "damaged .Expecting value"),
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


def test_files_that_would_fill_the_memory_are_refused(tmp_path, monkeypatch):
    data = json.dumps(["a dog"] * 1000).encode()
    monkeypatch.setenv("TFCAP_MAX_BYTES", str(len(data)))
    path = written(tmp_path, gzip.compress(data))
    assert len(read_json(path)) == 1000
    for more in (data + b" ", gzip.compress(data + b" ")):
        with pytest.raises(ValueError, match="a.json'.*_BYTES to more"):
            read_json(written(tmp_path, more))


@pytest.mark.parametrize("value", ["4G", "-1", "1.5"])
def test_a_limit_that_is_no_number_is_refused(tmp_path, monkeypatch, value):
    monkeypatch.setenv("TFCAP_MAX_BYTES", value)
    with pytest.raises(ValueError, match="`TFCAP_MAX_BYTES` must be a positiv"):
        read_json(written(tmp_path, "[]"))


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
    with pytest.raises(ValueError, match="a.json'.*not what was.*Mend it"):
        read_sealed(path, "Mend it.")
    for content in ({"r@10": 55.0}, ["speaker"]):
        path.write_text(json.dumps(content))
        assert read_sealed(path, "Mend it.") == content


def test_every_line_has_its_place(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("\ufeffone\r\n\n caf\u00e9 \u2028 end\n".encode())
    wanted = ["one", "", " caf\u00e9 \u2028 end", ""]
    assert read_lines(path) == wanted
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_lines(str(packed)) == wanted
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(ValueError, match="packed', where the compressed data"):
        read_lines(packed)


def test_what_is_no_text_is_told_with_the_line(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"one\ntwo\n\xe9\n")
    with pytest.raises(ValueError, match=r"lines.txt', where in line 3 the te"):
        read_lines(path)
    with pytest.raises(FileNotFoundError):
        read_lines(tmp_path / "none.txt")
