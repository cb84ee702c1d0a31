import time

import numpy as np
import pytest

from tests.java_programs import METEOR as WORKING
from tfcap.text import JavaError
from tfcap.text import MissingScoreError
from tfcap.text import meteor_java

CANDIDATES = [["a"], ["two", "cats"], ["c"] * 3]
REFERENCES = [[["a"], ["the", "a"]], [["cats"]], [["c"]] * 5]


def test_scores_come_in_the_order_of_the_captions(fake_java, fake_package):
    fake_java(WORKING)
    done = []
    scores = meteor_java(
        CANDIDATES * 50,
        REFERENCES * 50,
        progress=lambda *count: done.append(count),
    )
    assert scores.corpus == pytest.approx(30.0)
    np.testing.assert_allclose(scores.each, [0.1, 0.2, 0.3] * 50)
    assert scores.each.dtype == np.float64
    assert done == [(64, 150), (128, 150), (150, 150)]


@pytest.mark.parametrize(
    "bad", "\n \r \x0b \x0c \x1c \x85 \u2028 \u2029 ".split(" ")
)
def test_no_character_splits_a_caption_in_two(fake_java, fake_package, bad):
    fake_java(WORKING)
    candidates = [["a", f"b{bad}c"], ["d"]]
    references = [[[f"{bad}x"]], [["y", "||| z"]]]
    scores = meteor_java(candidates, references)
    assert scores.each[1] == 0.1 and scores.each[0] in (0.2, 0.3)


def test_the_language_of_the_machine_and_memory_are_set(
    fake_java, fake_package, tmp_path
):
    fake_java(
        f"""
        import os, sys
        with open({str(tmp_path / "seen")!r}, "w") as file:
            print(*sys.argv[1:], os.getcwd(), file=file)
        """
    )
    with pytest.raises(JavaError):
        meteor_java(CANDIDATES, REFERENCES, heap="3G")
    seen = (tmp_path / "seen").read_text().split()
    assert {"-Duser.language=en", "-Duser.country=US", "-Xmx3G"} < {*seen}
    assert seen[-7:-1] == ["-", "-", "-stdio", "-l", "en", "-norm"]
    assert seen[-1] == str(fake_package / "meteor")


@pytest.mark.parametrize("answer", ["hello", "0,5", ""])
def test_answers_that_are_no_numbers_are_refused(
    fake_java, fake_package, answer
):
    fake_java(f"import sys\nfor _ in sys.stdin: print({answer!r}, flush=True)")
    with pytest.raises(JavaError, match=f"{answer!r}, not numbers"):
        meteor_java(CANDIDATES, REFERENCES)


def test_a_program_that_breaks_or_hangs_ends(fake_java, fake_package):
    fake_java("import sys; sys.exit('broken')")
    with pytest.raises(JavaError, match="its messages: broken"):
        meteor_java(CANDIDATES, REFERENCES)
    fake_java("import time; time.sleep(300)")
    started = time.monotonic()
    with pytest.raises(JavaError, match="did not answer for 1 s"):
        meteor_java(CANDIDATES, REFERENCES, timeout=1.0)
    assert time.monotonic() - started < 20


def test_what_is_missing_is_named(fake_java, fake_package, monkeypatch):
    with pytest.raises(JavaError, match="there is no Java at '/no/java'"):
        meteor_java(CANDIDATES, REFERENCES, java="/no/java")
    fake_java(WORKING)
    (fake_package / "meteor" / "meteor-1.5.jar").unlink()
    with pytest.raises(MissingScoreError, match="meteor-1.5.jar' is missing"):
        meteor_java(CANDIDATES, REFERENCES)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingScoreError, match=r"'tfcap\[coco\]'"):
        meteor_java(CANDIDATES, REFERENCES)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(JavaError, match="no `java` on the PATH.*apt install"):
        meteor_java(CANDIDATES, REFERENCES)


def test_captions_must_be_aligned_and_split(fake_java):
    with pytest.raises(ValueError, match="same length"):
        meteor_java(CANDIDATES, REFERENCES[:2])
    with pytest.raises(TypeError, match="lists of words"):
        meteor_java(["a cat"], [[["a"]]])
