import collections.abc

import numpy as np
import pytest

import tfcap
from tfcap.text.scores.bleu import mutual_bleu
from tfcap.text.scores.bleu import self_bleu
from tfcap.text.scores.caption_statistics import bad_ending_rate
from tfcap.text.scores.caption_statistics import distinct_n
from tfcap.text.scores.caption_statistics import novelty
from tfcap.text.scores.caption_statistics import vocabulary_size
from tfcap.text.scores.chair import ObjectSynonyms
from tfcap.text.scores.chair import chair
from tfcap.text.scores.cider import cider
from tfcap.text.scores.cider import cider_r
from tfcap.text.scores.java import meteor_java
from tfcap.text.scores.java import spice

PAIRWISE = [
    *(tfcap.text.bleu, tfcap.text.rouge_l, cider, tfcap.text.cider_d, cider_r)
]
OF_SETS = [
    distinct_n,
    mutual_bleu,
    self_bleu,
    lambda sets: tfcap.text.self_cider(sets, [[["a"]], [["b"]]]),
]
OF_CAPTIONS = [
    vocabulary_size,
    bad_ending_rate,
    lambda captions: novelty(captions, []),
]


class Lazy(collections.abc.Sequence):
    """Sequence that makes its entries anew at each access."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return [list(row) for row in self.rows[index]]


SAID = [["a", "dog"], ["a", "cat"]]
REFERENCES = [[["a", "dog"]], [["a", "cat"], ["cats"]]]


@pytest.mark.parametrize(
    ("candidates", "references", "error", "told"),
    [
        ([["a"], "a cat"], REFERENCES, TypeError, r"candidates\[1\]='a cat'"),
        (SAID, [REFERENCES[0], ["a cat"]], TypeError, r"\[1\]\[0\]='a cat'"),
        (SAID, ["a dog", REFERENCES[1]], TypeError, r"references\[0\]='a dog'"),
        ("a dog", REFERENCES, TypeError, "`candidates` must be a non-empty"),
        ([SAID, SAID], REFERENCES, TypeError, "Take one level off"),
        (SAID[:1], REFERENCES, ValueError, "1 candidates, 2 lists"),
        ([], [], ValueError, "`candidates` must be a non-empty"),
        (SAID, [[["a"]], []], ValueError, r"`references\[1\]` must be a non-"),
    ],
)
@pytest.mark.parametrize("score", PAIRWISE)
def test_what_is_not_split_or_not_aligned_is_refused(
    score, candidates, references, error, told
):
    with pytest.raises(error, match=told):
        score(candidates, references)


@pytest.mark.parametrize("score", PAIRWISE)
def test_tuples_and_arrays_are_as_good_as_lists(score):
    wanted = score(SAID, REFERENCES)
    tuples = tuple(tuple(map(tuple, r)) for r in REFERENCES)
    given = (("a", "dog"), np.array(["a", "cat"]))
    np.testing.assert_equal(score(given, tuples), wanted)
    np.testing.assert_equal(score(given, Lazy(REFERENCES)), wanted)
    ids = np.arange(24).reshape(4, 2, 3) % 7
    wanted = score(ids[:, 0].tolist(), ids.tolist())
    np.testing.assert_equal(score(ids[:, 0], ids), wanted)


@pytest.mark.parametrize("kind", [np.array, Lazy])
def test_chair_knows_references_apart_that_are_made_anew(kind):
    names = ["dog", "cat", "bird", "cup", "bus", "car"] * 4
    objects = ObjectSynonyms([[name] for name in names[:6]])
    captions = [["a", name] for name in names]
    references = kind([[caption] for caption in captions])
    assert chair(captions, references, objects)[0].corpus == 0


@pytest.mark.parametrize("score", PAIRWISE)
def test_empty_captions_score_0(score):
    some = score([[], ["a", "cat"]], [[["a", "dog"]], [[], ["a", "cat"]]])
    none = score([[], []], [[[]], [[], []]])
    if not isinstance(some, list):
        some, none = [some], [none]
    for scores in some:
        assert scores.each[0] == 0 and np.isfinite(scores.each).all()
    assert [scores.corpus for scores in none] == [0] * len(none)


@pytest.mark.parametrize("score", OF_SETS)
def test_sets_of_strings_or_of_nothing_are_refused(score):
    with pytest.raises(TypeError, match="sets\\[0\\]\\[0\\]='a dog'"):
        score([["a dog", "a cat"]])
    with pytest.raises(ValueError, match="`sets` must be a non-empty list"):
        score([])
    with pytest.raises(ValueError, match="`sets\\[1\\]` must be a non-empty"):
        score([[["a"], ["b"]], []])


@pytest.mark.parametrize("score", OF_CAPTIONS)
def test_strings_for_captions_or_no_captions_are_refused(score):
    with pytest.raises(TypeError, match="captions\\[0\\]='a dog'"):
        score(["a dog"])
    with pytest.raises(TypeError, match="captions='a dog'"):
        score("a dog")
    with pytest.raises(ValueError, match="`captions` must be a non-empty"):
        score([])


@pytest.mark.parametrize("long", ["captions", "references"])
def test_one_text_of_thousands_of_words_is_refused_by_name(long, monkeypatch):
    captions, references = ["a dog", "a cat"], [["dog"], ["cat", "cats"]]
    text = "one two three four five " * 201
    if long == "captions":
        captions[1], name = text, r"captions\[1\]"
    else:
        references[1][1], name = text, r"references\[1\]\[1\]"
    told = f"`{name}` must have at most 1,000 words. Received: 1,005 words, "
    told += "'one two three four five'.*set TFCAP_MAX_WORDS to more"
    with pytest.raises(ValueError, match=told):
        tfcap.text.evaluate_captions(captions, references, metrics=["bleu"])
    words = [text.split() for text in captions]
    several = [[text.split() for text in row] for row in references]
    for score in (tfcap.text.meteor, meteor_java, spice):
        with pytest.raises(ValueError, match=told):
            score(words, several)
    monkeypatch.setenv("TFCAP_MAX_WORDS", "1005")
    tfcap.text.evaluate_captions(captions, references, metrics=["bleu"])
