import gzip
import hashlib
import json
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.golden_captions import GOLDEN
from tests.text.odd_captions import odd_captions
from tests.text.ptb import ptb_tokenize
from tfcap.text import caption_tokenize
from tfcap.text import word_tokenize
from tfcap.text.caption_tokenization import caption_tokenize_batch

#: Of each set of real captions: how many there are, and a digest of Java's
#: answers to them, each caption alone.
REAL = {
    "coco": (70741, "f67faa55160c64de0c76468463246be8"),
    "flickr8k": (35455, "b2128b696994be951f485f3df9bf7bda"),
    "ucm": (10500, "8775b8988094891f7f2739959cbb70fd"),
}


def read_captions(folder, name):
    """All captions of one set of real data, in their order."""
    if name == "flickr8k":
        with gzip.open(folder / name / "captions.json.gz", "rt") as file:
            return [c for image in json.load(file) for c in image["captions"]]
    with gzip.open(folder / name / "captions.jsonl.gz", "rt") as file:
        images = [json.loads(line) for line in file]
    if name == "ucm":
        return [" ".join(words) for i in images for words in i["tokens"]]
    return [caption for image in images for caption in image["captions"]]


def digest(rows):
    text = "\n".join(" ".join(words) for words in rows)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def java(captions):
    """Java's words of every caption, none of which sees the next one."""
    rows = [text for caption in captions for text in ("zq", caption)] + ["zq"]
    found = ptb_tokenize(rows)
    # Some tokens hold a no-break space, at which the scores split them.
    return found[1::2]


def test_tricky_captions_split_as_java_splits_them():
    assert {c: " ".join(caption_tokenize(c)) for c in GOLDEN} == GOLDEN
    wanted = [words.split() for words in GOLDEN.values()]
    assert caption_tokenize_batch(iter(GOLDEN)) == wanted
    assert caption_tokenize_batch([]) == []


@pytest.mark.parametrize("name", REAL)
def test_real_captions_split_as_java_split_them(shared_data, name):
    captions = read_captions(shared_data, name)
    count, wanted = REAL[name]
    assert len(captions) == count
    assert digest(caption_tokenize_batch(captions)) == wanted


@pytest.mark.slow
def test_java_itself_agrees():
    assert java(GOLDEN) == [words.split() for words in GOLDEN.values()]


#: Odd words that are known to be split differently from Java.
DIFFERENT = {
    *("Sr.\u00aa", "S&P-500", "S&Ls", "http://l'a.com/"),
    "\u0665\u066b\u0665",
}


def test_java_itself_agrees_on_odd_captions():
    captions = odd_captions(6000)
    found = zip(captions, java(captions))
    wrong = [c for c, words in found if caption_tokenize(c) != words]
    assert {*wrong} & {*odd_captions(0)} == DIFFERENT
    assert len(wrong) < 0.025 * len(captions), wrong[:50]


@given(st.text() | st.text("aSTdn'\u2019`.,-:5 /@#&\t()é\u2028"))
def test_any_text_gives_words_without_white_space(caption):
    words = caption_tokenize(caption)
    assert words == " ".join(words).split()


@given(st.text(), st.characters(categories=["Cc", "Zl", "Zp"]), st.text())
def test_no_caption_shifts_another_one(before, control, after):
    captions = ["a dog", f"{before}{control}{after}", "two cats"]
    rows = caption_tokenize_batch(captions)
    assert [rows[0], rows[2]] == [["a", "dog"], ["two", "cats"]]


def test_new_lines_of_java_and_halves_of_characters_are_white_space():
    for sign in "\n\r\v\f\u2028\u2029\x1c\x1d\x1e\ud83d\udc00":
        assert caption_tokenize(f"a{sign}b") == ["a", "b"]


def test_what_is_no_caption_is_refused():
    for text in (None, b"a dog", ["a", "dog"]):
        with pytest.raises(TypeError, match="`text` must be a string. Receiv"):
            caption_tokenize(text)
    for texts in ("a dog", None):
        with pytest.raises(TypeError, match="`texts` must be an iterable"):
            caption_tokenize_batch(texts)


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
    text = text.translate(str.maketrans("\u2018\u2019\u201c\u201d", "''\"\""))
    assert "".join(word_tokenize(text)) == "".join(text.split())
    assert all(word_tokenize(text))


@pytest.mark.parametrize("tokenize", [caption_tokenize, word_tokenize])
def test_a_pathological_caption_takes_linear_time(tokenize):
    for piece in "n' a. a.. http:// a@ <a 's 5- 1/ o'a x -".split():
        start = time.process_time()
        tokenize(piece * 20_000)
        assert time.process_time() - start < 2.0
