"""METEOR, against values of its program and on tables of a few words."""

import gzip
import importlib.util
import sys
import types

import numpy as np
import pytest

from tfcap.text import MissingScoreError
from tfcap.text import meteor
from tfcap.text.scores.meteor import ALPHA
from tfcap.text.scores.meteor import BETA
from tfcap.text.scores.meteor import DELTA
from tfcap.text.scores.meteor import GAMMA
from tfcap.text.scores.meteor_alignment import Sentences
from tfcap.text.scores.meteor_alignment import align
from tfcap.text.scores.meteor_alignment import count_chunks
from tfcap.text.scores.meteor_alignment import find_matches
from tfcap.text.scores.meteor_resources import ALWAYS
from tfcap.text.scores.meteor_resources import BEFORE_NUMBERS
from tfcap.text.scores.meteor_resources import meteor_resources
from tfcap.text.scores.meteor_resources import normalize

#: What METEOR 1.5's own program gives to captions, and their references.
GOLDEN = {
    "a man rides a horse": (
        0.41388921016683433,
        ["a man is riding a horse", "someone on a horse"],
    ),
    "two dogs are running quickly on the beach": (
        0.2227324013649208,
        ["a pair of dogs run along the shore", "dogs play near the sea"],
    ),
    "the children , who 're happy , eat 1,000.50 apples ...": (
        0.20751531853673452,
        ["happy kids eat apples ; U.S. apples", "the child eats an apple"],
    ),
    "a red-haired woman 's bag": (
        0.4337389988176927,
        ["the bag of a red haired woman", "women with bags"],
    ),
    "a large number of people in front of a building": (
        0.4133811402135334,
        ["many people before a building", "a lot of men and women"],
    ),
    "Mr. Smith reads No. 5 . etc. And": (
        0.30799834369816204,
        ["mr smith reads number 5 and so on", "No. 5 is alive"],
    ),
    "he is at the top of the hill , at the end": (
        0.41026842136886854,
        ["at the end he is on top of a hill", "at the hill"],
    ),
    "a a a the the of of a the": (
        0.36548223350253806,
        ["the a of the a of the a of a", "of the a"],
    ),
    "rock 'n' roll – the 90's “best” A&B": (
        0.2979114497147777,
        ["the best rock and roll of the nineties", "rock"],
    ),
    "wishful thinking is the biggest of boxes and glasses": (
        0.3575794389612049,
        ["the bigger boxes and a glass of wish", "hopes"],
    ),
    "café Äpfel 日本語 😀 x--y": (
        0.5217963252426691,
        ["Café äpfel 日本語 x-y", "😀"],
    ),
    "the same words": (1.0, ["the same words", "other words"]),
    "nothing shared here": (0.0, ["completely different sentence"]),
    "a man a plan a canal a man in a boat in a canal in a city": (
        0.49913159280282293,
        [
            "a canal in a city a man in a plan a boat in a man in a canal",
            "a city",
        ],
    ),
}
GOLDEN_CORPUS = 0.35836949592354495
#: What it gives to `repetitive()`.
REPETITIVE_CORPUS = 0.2303021689965029


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """METEOR's own tables, prepared once."""
    if importlib.util.find_spec("pycocoevalcap") is None:
        pytest.skip("needs pycocoevalcap")
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("TFCAP_CACHE", str(folder))
        meteor_resources.cache_clear()
        yield folder
    meteor_resources.cache_clear()


def test_values_are_those_of_its_program(tables):
    wanted, references = zip(*GOLDEN.values())
    scores = meteor(
        [text.split(" ") for text in GOLDEN],
        [[text.split(" ") for text in row] for row in references],
    )
    np.testing.assert_allclose(scores.each, wanted, rtol=0, atol=1e-14)
    assert scores.corpus == pytest.approx(GOLDEN_CORPUS, abs=1e-14)
    assert not [*tables.rglob("*.partial*")]


def repetitive():
    """Captions and references of few words, with many ties; some are long."""
    words = "a a a the man men dog of in front on top riding rides big large"
    rng = np.random.default_rng(0)

    def drawn(most):
        return rng.choice([*words.split(), "very"], rng.integers(1, most))

    captions = [drawn(20 if i % 20 else 100) for i in range(200)]
    references = [[drawn(len(c) + 2) for _ in range(2)] for c in captions]
    return captions, references


def test_ties_end_as_in_its_program(tables):
    scores = meteor(*repetitive())
    assert scores.corpus == pytest.approx(REPETITIVE_CORPUS, abs=1e-14)


def score(caption, *references):
    return meteor([caption.split()], [[r.split() for r in references]]).corpus


def by_hand(matched, lengths, chunks, words):
    """The formula of section 3 of the paper."""
    precision, recall = (m / n for m, n in zip(matched, lengths))
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    return mean * (1 - GAMMA * (chunks / words) ** BETA)


def test_scores_are_those_of_the_formula(few_words):
    content, function = DELTA, 1 - DELTA
    # The hound (synonym of dog), and "the" in another chunk.
    length = 2 * content + function
    wanted = by_hand([0.8 * content + function] * 2, [length, length], 2, 2)
    assert score("the brown hound", "dog the x") == pytest.approx(wanted)
    # A phrase for a word, and its neighbor by its stem: one chunk.
    matched = [0.6 * (2 * content + 2 * function), 0.6 * 2 * content]
    lengths = [2 * content + 2 * function, 3 * content]
    wanted = by_hand(matched, lengths, 1, (4 + 2) / 2)
    assert score("a lot of walking", "x many walks") == pytest.approx(wanted)
    assert score("the dog", "a cat", "the dog") == 1
    assert score("dog", "cat") == 0


@pytest.mark.parametrize(
    ("caption", "reference", "matched"),
    [
        ("spoke", "talks", 1),  # irregular, and by its ending
        ("men", "male", 1),
        ("cupful", "glass", 0),
        ("cups", "glassful", 1),
        ("is", "us", 0),
        ("very large", "big", 1),  # a paraphrase either way
        ("big", "very large", 1),
        ("many", "much", 0),
    ],
)
def test_words_that_match(few_words, caption, reference, matched):
    found = aligned(caption.split(), reference.split())
    assert len(found.pair) == matched


def aligned(caption, reference):
    """Matches of a caption with a reference of other words."""
    rows = tuple(caption), tuple(reference)
    pairs = np.array([[0], [1]])
    found = find_matches(Sentences.of(rows), pairs, meteor_resources())
    return found.rows(align(found, *np.array([[len(r)] for r in rows[::-1]])))


def test_the_best_reference_counts(few_words):
    rng = np.random.default_rng(0)
    words = ["cup", "cups", "big", "very", "large", "a", "the", "men", "glass"]

    def drawn():
        return rng.choice(words, rng.integers(1, 9)).tolist()

    captions = [drawn() for _ in range(200)]
    references = [[drawn() for _ in range(5)] for _ in captions]
    one_by_one = [
        max(meteor([caption], [[one]]).corpus for one in several)
        for caption, several in zip(captions, references)
    ]
    np.testing.assert_array_equal(meteor(captions, references)[1], one_by_one)


def test_of_equal_words_adjacent_ones_match(few_words):
    words = ("a",) * 120
    matches = aligned(words, (*words[1:], "cup"))
    assert len(matches.pair) == 119 and count_chunks(matches, 1) == [1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Mr. X., i.e. Y. ends.", "mr. x. , ie y. ends ."),
        ("No. 5 No. six", "no. 5 no. six"),
        ("No. Six", "no . six"),
        ("a... .. b.", "a ... .. b ."),
        ("1,000 a,b 2,c it's 90's '", "1,000 a , b 2 , c it 's 90 's '"),
        ("x--y a-b a - b", "x y a b a - b"),
        ("a\u3000b\xa0c", "a b c"),
        ("  ", ""),
    ],
)
def test_lines_are_split_as_its_program_splits_them(line, words):
    abbreviations = {"Mr": ALWAYS, "X": ALWAYS, "No": BEFORE_NUMBERS}
    assert normalize(line, abbreviations) == words.split()


def test_captions_are_compared_a_few_at_a_time(few_words, monkeypatch):
    captions, references = [["dog", "talks"], ["a"]] * 40, [[["hound"]]] * 80
    wanted = meteor(captions, references)
    monkeypatch.setattr("tfcap.text.scores.meteor._WORDS", 90)
    seen = []
    found = meteor(captions, references, lambda *count: seen.append(count))
    assert seen == [(35, 80), (71, 80), (80, 80)]
    assert found.corpus == wanted.corpus and 0 < wanted.corpus < 1
    np.testing.assert_array_equal(found.each, wanted.each)


def test_a_damaged_table_is_prepared_again(few_words, tmp_path):
    assert score("a lot of", "many") > 0
    (prepared,) = (tmp_path / "cache" / "meteor").iterdir()
    prepared.write_bytes(prepared.read_bytes()[:-1])
    meteor_resources.cache_clear()
    assert score("a lot of", "many") > 0
    # Another table is another file.
    with gzip.open(few_words / "data" / "paraphrase-en.gz", "wt") as file:
        file.write("0.5\nmany\nlots\n")
    meteor_resources.cache_clear()
    assert score("a lot of", "many") == 0


def test_a_cache_that_cannot_be_written_costs_time_and_no_score(
    few_words, tmp_path, monkeypatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TFCAP_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="Set TFCAP_CACHE to a folder"):
        assert score("a lot of", "many") > 0


def test_what_is_missing_is_named(few_words, monkeypatch):
    def refused(told):
        meteor_resources.cache_clear()
        with pytest.raises(MissingScoreError, match=told):
            score("a", "a")

    newer = types.SimpleNamespace(stemWord=lambda word: word[:5])
    package = types.SimpleNamespace(stemmer=lambda language: newer)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "snowballstemmer", package)
        patch.setattr("importlib.util.find_spec", importlib.util.find_spec)
        package.__spec__ = importlib.util.find_spec("json")
        refused(r"other stems.*pip install 'snowballstemmer<3'")
    (few_words / "meteor-1.5.jar").unlink()
    refused("meteor-1.5.jar' is missing")


def test_without_the_package_it_is_absent(no_meteor):
    with pytest.raises(MissingScoreError, match=r"pip install 'tfcap\[coco\]'"):
        score("a", "a")


def test_ids_are_no_words(few_words):
    with pytest.raises(TypeError, match="expected str instance, int found"):
        meteor([[1, 2]], [[["a"]]])
