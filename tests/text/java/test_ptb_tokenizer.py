import pytest

from tfcap.text import JavaError
from tfcap.text import ptb_tokenize

COPY = """
    import sys
    data = sys.stdin.buffer.read().lower()
    sys.stdout.buffer.write(data)
"""


def test_punctuation_goes_and_rows_stay(fake_java, fake_package):
    fake_java(COPY)
    captions = ["A cat , A DOG .", "", "...", "` -lrb- Ü -LRB-"]
    wanted = [["a", "cat", "a", "dog"], [], [], ["-lrb-", "Ü".encode()]]
    wanted[3] = ["-lrb-", "Ü", "-lrb-"]
    assert ptb_tokenize(captions) == wanted
    assert ptb_tokenize([]) == []


@pytest.mark.parametrize(
    "bad",
    ["\n", "\r", "\x00", "\x0b", "\x0c", "\x1d", "\x85", "\u2028", "\ud800"],
)
def test_a_caption_never_shifts_another_one(fake_java, fake_package, bad):
    fake_java(COPY)
    rows = ptb_tokenize([f"a{bad}b", "c", f"{bad}d{bad}"])
    assert rows[1] == ["c"] and "d" in rows[2][0] and len(rows) == 3


def test_another_number_of_rows_is_refused(fake_java, fake_package):
    fake_java("print('one'); print('two'); print('three')")
    with pytest.raises(JavaError, match="gave 3 rows for 2 captions"):
        ptb_tokenize(["a", "b"])
    fake_java("print('one\\ntwo', end='')")
    with pytest.raises(JavaError, match="gave 2 rows for 2 captions"):
        ptb_tokenize(["a", "b"])


def test_a_program_that_dies_or_hangs_is_told(fake_java, fake_package):
    fake_java("import sys; sys.exit('no class')")
    with pytest.raises(JavaError, match="no class"):
        ptb_tokenize(["a"])
    fake_java("import time; time.sleep(300)")
    with pytest.raises(JavaError, match="did not answer for 1 s"):
        ptb_tokenize(["a"], timeout=1.0)
