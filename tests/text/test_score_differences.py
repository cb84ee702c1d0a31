import numpy as np
import pytest

from tfcap.text import bleu
from tfcap.text import meteor
from tfcap.text import rouge_l
from tfcap.text import score_differences
from tfcap.text.score_differences import differences_table
from tfcap.text.scores.scores import ResampledScores
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import bcmr

CAPTIONS = ["a dog talks", "the man speaks", "a glass of a dog", "cup"]
REFERENCES = [
    ["the hound talked"],
    ["a male spoke", "the man"],
    ["many glasses of dogs", "a glass of a dog"],
    ["a cup"],
]
WORDS = [text.split() for text in CAPTIONS]
SEVERAL = [[text.split() for text in row] for row in REFERENCES]


def test_a_drawn_corpus_has_the_score_of_its_captions(few_words):
    weights = np.array([[1, 1, 1, 1], [0, 2, 1, 1], [4, 0, 0, 0]])
    drawn = [np.repeat(np.arange(4), row) for row in weights]

    def mixture(words, several):
        consensus = Scores(1.0, np.full(len(words), 1.0))
        parts = meteor(words, several), rouge_l(words, several)
        return bcmr(bleu(words, several), consensus, *parts)

    for score in (
        *(lambda *x, k=k: bleu(*x, smoothing="floor")[k] for k in range(4)),
        meteor,
        rouge_l,
        mixture,
    ):
        whole = score(WORDS, SEVERAL)
        wanted = [
            score([WORDS[i] for i in rows], [SEVERAL[i] for i in rows]).corpus
            for rows in drawn
        ]
        found = whole.resampled(weights)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert not np.allclose(whole.resampled(weights), np.mean(whole.each))


def test_intervals_hold_the_difference_and_pairs_make_them_narrow():
    rng = np.random.default_rng(0)
    easy = rng.normal(size=400)
    ours = {"cider_d": Scores(float(np.mean(easy + 0.1)), easy + 0.1)}
    theirs = {"cider_d": Scores(float(np.mean(easy)), easy)}
    (found,) = score_differences(ours, theirs).values()
    assert found.difference == pytest.approx(0.1)
    # Every image is easier by as much: no draw changes the difference.
    np.testing.assert_allclose(found[1:], 0.1)
    noise = easy + 0.1 + rng.normal(scale=2.0, size=400)
    ours = {"cider_d": Scores(float(noise.mean()), noise), "rouge_l": None}
    found = score_differences(ours, theirs)["cider_d"]
    half = 1.96 * np.std(noise - easy) / 20
    assert found.high - found.low == pytest.approx(2 * half, rel=0.1)
    assert found.low < found.difference < found.high
    assert found == score_differences(ours, theirs)["cider_d"]
    table = differences_table({"cider_d": found})
    assert f"CIDEr-D   {found.difference:+10.4f}" in table
    assert "  95 % interval\n" in table


def test_one_image_bounds_nothing():
    for each in [0.5], [0.5, np.nan]:
        some = {"rouge_l": Scores(0.5, np.array(each))}
        more = {"rouge_l": Scores(0.2, np.full(len(each), 0.2))}
        found = score_differences(some, more)
        assert found["rouge_l"] == (0.3, -np.inf, np.inf)
    assert "    -inf     +inf" in differences_table(found)


def test_what_cannot_be_drawn_is_left_out_and_other_images_are_refused():
    each = np.array([0.5, 1.0])
    plain = {"meteor_java": Scores(0.9, each)}
    assert score_differences(plain, plain) == {}
    # Of one caption there is nothing to say.
    some = {"spice_spacy": Scores(0.5, np.array([0.0, np.nan, 1.0]))}
    drawn = some["spice_spacy"].resampled(np.array([[1, 5, 1], [2, 0, 1]]))
    np.testing.assert_allclose(drawn, [1 / 2, 1 / 3])
    assert score_differences(some, some)["spice_spacy"] == (0.0, 0.0, 0.0)
    some = {"bleu_1": ResampledScores(1.5, each, lambda w: w @ each)}
    more = {"bleu_1": Scores(0.0, np.zeros(3))}
    with pytest.raises(ValueError, match="scores of \\[2, 3\\] captions"):
        score_differences(some, more)
