import gzip
import json
import os
import threading
import time

import pytest

from tfcap._io import read_json
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
    monkeypatch.setenv("TFCAP_MAX_BYTES", "5")
    assert read_json(piped(tmp_path / "a", b"[1,2]")) == [1, 2]
    told = "b', .*more than 5 bytes. Write them to.*TFCAP_MAX_BYTES to more"
    with pytest.raises(ValueError, match=told):
        read_json(piped(tmp_path / "b", b"[1,22]"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("TFCAP_MAX_WAIT", "1")
    path = tmp_path / "silent"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="silent'.*for 1 seconds. See that"):
        read_json(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_may_be_slow(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        with open(path, "wb", buffering=0) as file:
            for part in (b"[1", b",2]"):
                time.sleep(0.1)
                file.write(part)

    threading.Thread(target=write, daemon=True).start()
    assert read_json(path) == [1, 2]


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs devices")
def test_a_device_without_end_is_refused():
    with pytest.raises(ValueError, match="/dev/zero'.*gives more than"):
        read_json("/dev/zero")
    with pytest.raises(ValueError, match="/dev/null'.*there is nothing"):
        read_json("/dev/null")


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs /proc")
def test_a_file_that_opens_and_cannot_be_read_is_named():
    with pytest.raises(OSError) as caught:
        read_json("/proc/self/mem")
    assert caught.value.filename == "/proc/self/mem"


def test_files_that_would_fill_the_memory_are_refused(tmp_path, monkeypatch):
    bomb = gzip.compress(b"[" + bytes(65 << 20), 1)
    with pytest.raises(ValueError, match="a.json'.*unpack to more than 67,10"):
        read_json(written(tmp_path, bomb))
    with open(tmp_path / "holes.json", "wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(ValueError, match="holes.json'.* mostly holes"):
        read_json(tmp_path / "holes.json")
    data = json.dumps(["a dog"] * 1000).encode()
    monkeypatch.setenv("TFCAP_MAX_BYTES", str(len(data)))
    path = written(tmp_path, gzip.compress(data))
    assert len(read_json(path)) == 1000
    for more in (data + b" ", gzip.compress(data + b" ")):
        with pytest.raises(ValueError, match="a.json'.*_BYTES to more"):
            read_json(written(tmp_path, more))


@pytest.mark.parametrize("value", ["4G", "-1", "1.5", "9" * 5000])
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
    with pytest.raises(ValueError, match="a.json'.*than was written.*Mend it"):
        read_sealed(path, "Mend it.")
    for content in ({"r@10": 55.0}, ["speaker"]):
        path.write_text(json.dumps(content))
        assert read_sealed(path, "Mend it.") == content
