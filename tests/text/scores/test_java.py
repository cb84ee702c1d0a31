import importlib.util
import re
import shutil

import numpy as np
import pytest

from tests.text.ptb import ptb_tokenize
from tfcap.text import MissingScoreError
from tfcap.text import evaluate_captions
from tfcap.text import meteor
from tfcap.text.scores.java import meteor_java
from tfcap.text.scores.java import spice

CANDIDATES = [["a"], ["two", "cats"], ["c"] * 3]
REFERENCES = [[["a"], ["the", "a"]], [["cats"]], [["c"]] * 5]
CAPTIONS = [
    ["A man rides a horse.", "A man on a horse", "Someone is riding horses!"],
    ["Two dogs play.", "Dogs playing on grass (in the sun)", "2 dogs"],
    ["asdf", "Women's shoes", "a pair of women's shoes"],
]


def test_spice_is_what_pycocoevalcap_says_of_each(fake_spice):
    scores = spice(CANDIDATES, REFERENCES)
    np.testing.assert_allclose(scores.each, [0.1, 0.2, 0.3])
    assert scores.corpus == pytest.approx(0.2)
    texts = [" ".join(words) for words in CANDIDATES]
    human = [[" ".join(words) for words in x] for x in REFERENCES]
    report = evaluate_captions(texts, human, ["spider"])
    np.testing.assert_array_equal(report.scores["spice"].each, scores.each)
    assert not report.absent and "spider" in report.scores


def test_what_is_missing_is_named(fake_spice, monkeypatch):
    (fake_spice / "lib" / "stanford-corenlp-3.6.0-models.jar").unlink()
    told = re.escape("(no stanford-corenlp-3.6.0-models.jar). Download http")
    with pytest.raises(MissingScoreError, match=told):
        spice(CANDIDATES, REFERENCES)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for score in spice, meteor_java:
        with pytest.raises(MissingScoreError, match=r"'tfcap\[coco\]'"):
            score(CANDIDATES, REFERENCES)
    monkeypatch.setenv("PATH", "")
    for score in spice, meteor_java:
        with pytest.raises(MissingScoreError, match="no `java` on the PATH"):
            score(CANDIDATES, REFERENCES)


def test_a_program_that_fails_is_told(fake_spice):
    failing = "class Spice:\n    def compute_score(self, human, said):\n"
    (fake_spice / "spice.py").write_text(f"{failing}        open('/no/file')\n")
    with pytest.raises(MissingScoreError, match="FileNotFoundError.*/no/file"):
        spice(CANDIDATES, REFERENCES)


def test_captions_must_be_aligned_and_split():
    for score in meteor, meteor_java, spice:
        with pytest.raises(ValueError, match="same length"):
            score(CANDIDATES, REFERENCES[:2])
        with pytest.raises(TypeError, match="lists of words"):
            score(["a cat"], [[["a"]]])


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("java") is None
    or importlib.util.find_spec("pycocoevalcap") is None,
    reason="needs Java and pycocoevalcap",
)
def test_meteor_of_java_is_that_of_python():
    flat = [caption for captions in CAPTIONS for caption in captions]
    words = iter(ptb_tokenize(flat))
    rows = [[next(words) for _ in captions] for captions in CAPTIONS]
    rows = [row[0] for row in rows], [row[1:] for row in rows]
    found, wanted = meteor_java(*rows), meteor(*rows)
    np.testing.assert_allclose(found.each, wanted.each, rtol=0, atol=1e-12)
    assert found.corpus == pytest.approx(wanted.corpus, abs=1e-12)
