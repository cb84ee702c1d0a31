import threading
import time

import numpy as np
import pytest

from tests.java_programs import METEOR as WORKING
from tfcap.text import METEOR
from tfcap.text import JavaError
from tfcap.text import meteor

CANDIDATES = [["a"], ["two", "cats"], ["c"] * 3]
REFERENCES = [[["a"], ["the", "a"]], [["cats"]], [["c"]] * 5]


def test_scores_come_in_the_order_of_the_captions(fake_java, fake_package):
    fake_java(WORKING)
    done = []
    with METEOR() as scorer:
        scores = scorer.score(
            CANDIDATES * 50, REFERENCES * 50, lambda *count: done.append(count)
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
    scores = meteor(candidates, references)
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
        meteor(CANDIDATES, REFERENCES, heap="3G")
    seen = (tmp_path / "seen").read_text().split()
    assert {"-Duser.language=en", "-Duser.country=US", "-Xmx3G"} < {*seen}
    assert seen[-7:-1] == ["-", "-", "-stdio", "-l", "en", "-norm"]
    assert seen[-1] == str(fake_package / "meteor")


@pytest.mark.parametrize("answer", ["hello", "0,5", ""])
def test_answers_that_are_no_numbers_are_refused(
    fake_java, fake_package, answer
):
    fake_java(f"import sys\nfor _ in sys.stdin: print({answer!r}, flush=True)")
    with METEOR() as scorer:
        with pytest.raises(JavaError, match=f"{answer!r}, not numbers"):
            scorer.score(CANDIDATES, REFERENCES)


def test_a_scorer_that_failed_works_again(fake_java, fake_package, tmp_path):
    fake_java("import sys; sys.exit('broken')")
    with METEOR(timeout=20.0) as scorer:
        for _ in range(2):
            with pytest.raises(JavaError, match="its messages: broken"):
                scorer.score(CANDIDATES, REFERENCES)
        fake_java(WORKING)
        assert scorer.score(CANDIDATES, REFERENCES).corpus > 0
    assert scorer.score(CANDIDATES[:1], REFERENCES[:1]).corpus > 0
    scorer.close()
    scorer.close()


def test_a_hang_ends_and_the_lock_is_free_afterwards(fake_java, fake_package):
    fake_java("import time; time.sleep(300)")
    scorer = METEOR(timeout=1.0)
    started = time.monotonic()
    for _ in range(2):
        with pytest.raises(JavaError, match="did not answer for 1 s"):
            scorer.score(CANDIDATES, REFERENCES)
    del scorer
    assert time.monotonic() - started < 20


def test_an_interrupted_call_leaves_no_answer_to_the_next(
    fake_java, fake_package
):
    fake_java(WORKING)

    def interrupt(done, total):
        raise KeyboardInterrupt

    with METEOR() as scorer:
        with pytest.raises(KeyboardInterrupt):
            scorer.score(CANDIDATES, REFERENCES, interrupt)
        assert scorer.score(CANDIDATES, REFERENCES).each[2] == 0.3


def test_threads_wait_for_each_other(fake_java, fake_package):
    fake_java(WORKING)
    found = {}
    with METEOR() as scorer:

        def score(k):
            found[k] = scorer.score([["w"] * k] * 200, [[["w"]]] * 200)

        threads = [threading.Thread(target=score, args=(k,)) for k in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    for k in (1, 2, 3):
        np.testing.assert_allclose(found[k].each, k / 10)


def test_what_is_missing_is_named(fake_java, fake_package, monkeypatch):
    with pytest.raises(JavaError, match="there is no Java at '/no/java'"):
        meteor(CANDIDATES, REFERENCES, java="/no/java")
    fake_java(WORKING)
    (fake_package / "meteor" / "meteor-1.5.jar").unlink()
    with pytest.raises(JavaError, match="meteor-1.5.jar' is missing"):
        meteor(CANDIDATES, REFERENCES)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(JavaError, match=r"pip install 'tfcap\[coco\]'"):
        meteor(CANDIDATES, REFERENCES)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(JavaError, match="no `java` on the PATH.*apt install"):
        meteor(CANDIDATES, REFERENCES)


def test_captions_must_be_aligned_and_split(fake_java):
    with pytest.raises(ValueError, match="same length"):
        meteor(CANDIDATES, REFERENCES[:2])
    with pytest.raises(TypeError, match="lists of words"):
        meteor(["a cat"], [[["a"]]])


def test_a_program_that_nobody_asks_ends_and_starts_again(
    fake_java, fake_package
):
    fake_java(WORKING)
    with METEOR(idle=0.2) as scorer:
        first = scorer.score([["a"]], [[["a"]]])
        process = scorer._process._process
        # Killed, or this waits in vain.
        assert process.wait(60) != 0
        assert scorer.score([["a"]], [[["a"]]]).corpus == first.corpus
        assert scorer._process._process is not process
