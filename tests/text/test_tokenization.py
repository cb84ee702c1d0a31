import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcap.text import word_tokenize


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("Is it sunny?", "is it sunny ?"),
        ("isn't", "is n't"),
        ("Can't they?", "ca n't they ?"),
        ("It's the dog's.", "it 's the dog 's ."),
        ("I'd say we'll, they're", "i 'd say we 'll , they 're"),
        ("a t-shirt", "a t-shirt"),
        ("from the 20's", "from the 20's"),
        ("at 5:30pm, 1,000 of 2.5", "at 5:30pm , 1,000 of 2.5"),
        ("2 p.m. in the U.S.", "2 p.m. in the u.s."),
        ("I cannot tell", "i can not tell"),
        ("well... yes -- no", "well ... yes -- no"),
        ("it\u2019s \u201cred\u201d", 'it \'s " red "'),
        ("6 o'clock", "6 o'clock"),
        ("dogs' beds", "dogs ' beds"),
        ("black/white", "black/white"),
        ("yes,it is", "yes , it is"),
        ("", ""),
        (" \t\n", ""),
    ],
)
def test_sentences_split_like_the_treebank(text, tokens):
    assert word_tokenize(text) == tokens.split()


@pytest.mark.parametrize(
    "word", ["caf\u00e9", "cafe\u0301", "हिन्दी", "собака", "狗"]
)
def test_words_of_any_script_stay_whole(word):
    assert len(word_tokenize(word)) == 1


@given(st.text())
def test_no_character_but_white_space_is_lost(text):
    text = unicodedata.normalize("NFC", text.lower())
    for typographic, plain in ("\u2018'", "\u2019'", '\u201c"', '\u201d"'):
        text = text.replace(typographic, plain)
    assert "".join(word_tokenize(text)) == "".join(text.split())
    assert all(word_tokenize(text))


def test_a_pathological_sentence_takes_linear_time():
    start = time.perf_counter()
    word_tokenize("n'" * 20_000 + "-" * 20_000 + "a." * 20_000)
    assert time.perf_counter() - start < 2.0
