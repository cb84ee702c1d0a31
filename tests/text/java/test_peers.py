"""The programs themselves, against the wrappers of pycocoevalcap."""

import importlib.util
import shutil

import numpy as np
import pytest

from tfcap.text import meteor_java
from tfcap.text import ptb_tokenize

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("java") is None
        or importlib.util.find_spec("pycocoevalcap") is None,
        reason="needs Java and pycocoevalcap",
    ),
]

CAPTIONS = [
    ["A man rides a horse.", "A man on a horse", "Someone is riding horses!"],
    ["Two dogs play.", "Dogs playing on grass (in the sun)", "2 dogs"],
    ["A red bus on the street", "The bus, it's red", "a bus -- a red one"],
    ["asdf", "Women's shoes", "a pair of women's shoes"],
]


def tokenized():
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    rows = {
        i: [{"caption": caption} for caption in captions]
        for i, captions in enumerate(CAPTIONS)
    }
    return PTBTokenizer().tokenize(rows)


def test_words_are_those_of_pycocoevalcap():
    flat = [caption for captions in CAPTIONS for caption in captions]
    wanted = [row for rows in tokenized().values() for row in rows]
    assert [" ".join(words) for words in ptb_tokenize(flat)] == wanted


def test_control_characters_shift_nothing():
    rows = ptb_tokenize(["a\u2028b", "c\x0bd", "e\x85f", "g\x00h", "last"])
    assert len(rows) == 5 and rows[-1] == ["last"]
    assert rows[0] == ["a", "b"]


def test_meteor_is_that_of_pycocoevalcap(monkeypatch):
    from pycocoevalcap.meteor.meteor import Meteor

    rows = tokenized()
    wanted, wanted_each = Meteor().compute_score(
        {i: captions[1:] for i, captions in rows.items()},
        {i: captions[:1] for i, captions in rows.items()},
    )
    # A machine whose language writes numbers with commas.
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=de")
    words = [[caption.split() for caption in rows[i]] for i in rows]
    candidates = [captions[0] for captions in words]
    references = [captions[1:] for captions in words]
    scores = meteor_java(candidates, references)
    assert scores.corpus == wanted
    np.testing.assert_array_equal(scores.each, wanted_each)
