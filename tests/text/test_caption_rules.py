import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.golden_captions import GOLDEN
from tfcap.text import caption_tokenization
from tfcap.text.caption_rules import RESTORED
from tfcap.text.caption_rules import RULES
from tfcap.text.caption_rules import SIGNS
from tfcap.text.caption_rules import TOKEN
from tfcap.text.caption_rules import WORD_CHARACTERS

PIECES = ["a", "Dog", "x-y", "dog's", "2", "cannot", "st", "K", "T", " ", " "]
PIECES += [",", ", ", ".", " .", "'s", "-"]


@pytest.mark.parametrize("pattern", [*(rule.pattern for rule in RULES), TOKEN])
def test_patterns_are_such_as_re2_knows(pattern):
    assert not re.search(r"\(\?[=!<P]|\\[bBdDsSwWZ1-9]", pattern)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_needs_what_it_says(rule):
    assert len(rule.needs) <= 1
    texts = [f"  {caption}  ".replace(" ", "  ") for caption in GOLDEN]
    found = [text for text in texts if re.search(rule.pattern, text)]
    assert all(rule.needs in text for text in found)


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_the_short_way_gives_what_the_rules_give(caption):
    ruled = caption_tokenization._ruled_words(caption)
    assert caption_tokenization.caption_tokenize(caption) == ruled


@given(st.text())
def test_stand_ins_in_a_caption_are_white_space(caption):
    stand_ins = [sign for sign in RESTORED if not sign.isascii()]
    assert len(stand_ins) == 7
    for sign in stand_ins:
        assert not re.match(f"[{WORD_CHARACTERS}{SIGNS}]", sign)
        words = caption_tokenization.caption_tokenize(f"a{sign}b {caption}")
        assert words[:2] == ["a", "b"]
