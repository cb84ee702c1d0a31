"""Tokenizers take any text, and lose nothing of it."""

import random
import time

import hypothesis
import pytest
from hypothesis import strategies

from tests.faults.mutations import ODD
from tests.faults.test_mutated_files import TOTAL
from tfcap.text import caption_tokenize
from tfcap.text import word_tokenize
from tfcap.text.caption_tokenization import caption_tokenize_batch

PIECES = (
    *("n't", "can't", "can", "not", "gonna", "'s", "20's", "1,000", "5:30pm"),
    *("p.m.", "u.s.", "t-shirt", "a/b", "...", "--", "-LRB-", "(", "``", "''"),
    *(" ", "  ", "\t", "\n", "\u00a0", "\u2028", "\0", "\ufeff", "\u200d"),
    *("\u2019", "\u201c", "e\u0301", "\u00e9", "\u0130", "\u00df", "\u4f60"),
    *("\U0001f468\u200d\U0001f469", "\u0e19\u0e49", "\ud800", "A", "x"),
)


def spelled(words):
    return "".join("".join(words).split())


@hypothesis.settings(max_examples=max(50, TOTAL // 20))
@hypothesis.given(strategies.lists(strategies.sampled_from(PIECES)))
def test_any_text_falls_into_words(pieces):
    text = "".join(pieces)
    words = word_tokenize(text)
    assert all(words) and not any(w != w.strip() for w in words)
    # What is said of a word must hold when it is read again.
    assert spelled(word_tokenize(" ".join(words))) == spelled(words)
    found = caption_tokenize(text)
    assert all(isinstance(word, str) and word for word in found)
    assert caption_tokenize_batch([text, "a dog"]) == [found, ["a", "dog"]]


@pytest.mark.parametrize("tokenize", [word_tokenize, caption_tokenize])
def test_long_texts_take_time_in_proportion(tokenize):
    draw = random.Random(0)
    texts = [text for text in ODD if isinstance(text, str)]
    texts += [piece * 3000 for piece in PIECES]
    texts += ["".join(draw.choices(PIECES, k=3000)) for _ in range(5)]
    for text in texts:
        begun = time.process_time()
        tokenize(text)
        assert time.process_time() - begun < 2, text[:20]
