import numpy as np
import pytest
from hypothesis import given

import tfcap
from tests.text.scores import naive
from tfcap.text.scores.bleu import self_bleu


def test_bleu_gives_the_golden_values_of_pycocoevalcap():
    golden = naive.GOLDEN["scores"]["bleu"]
    scores = tfcap.text.bleu(naive.CANDIDATES, naive.REFERENCES)
    np.testing.assert_allclose([s.corpus for s in scores], golden["corpus"])
    each = [score.each for score in scores]
    np.testing.assert_allclose(each, golden["each"], atol=1e-11)


@given(naive.corpora())
def test_bleu_is_that_of_a_loop_over_dictionaries(corpus):
    pairs = list(zip(*corpus))
    for k, scores in enumerate(tfcap.text.bleu(*corpus), start=1):
        assert scores.corpus == pytest.approx(naive.bleu(pairs, k), abs=1e-12)
        wanted = [naive.bleu([pair], k) for pair in pairs]
        np.testing.assert_allclose(scores.each, wanted, atol=1e-12)


@given(naive.corpora())
def test_bleu_lies_between_0_and_1_and_falls_with_the_order_to_few(corpus):
    for smoothing in (None, "add_one", "floor", "exponential"):
        for scores in tfcap.text.bleu(*corpus, smoothing=smoothing):
            assert 0 <= scores.corpus <= 1
            assert ((scores.each >= 0) & (scores.each <= 1)).all()


def test_of_two_references_equally_close_in_length_the_shorter_counts():
    candidate, references = list("abc"), [list("abcd"), list("ab")]
    assert tfcap.text.bleu([candidate], [references])[0].corpus > 1 - 1e-8
    assert tfcap.text.bleu([candidate], [references[:1]])[0].corpus < 0.8


def test_a_caption_that_is_a_reference_has_bleu_1_of_any_order():
    words = list("abcdefg")
    scores = tfcap.text.bleu([words], [[["no"], words]], max_order=6)
    assert [score.corpus for score in scores] == pytest.approx([1] * 6)


def test_words_may_be_ids():
    ids = [[1, 2, 3, 4, 5]], [[[1, 2, 3, 9, 9], [7, 4, 5]]]
    words = [list("abcde")], [[list("abcxx"), list("yde")]]
    for a, b in zip(tfcap.text.bleu(*ids), tfcap.text.bleu(*words)):
        assert a.corpus == b.corpus


@pytest.mark.parametrize("words", [70, 300])
def test_long_captions_are_counted_like_short_ones(words):
    rng = np.random.default_rng(0)
    corpus = [
        ([*rng.choice(list("abcd"), words)], [[*rng.choice(list("abcd"), n)]])
        for n in (3, words, 2 * words)
    ]
    for k, scores in enumerate(tfcap.text.bleu(*zip(*corpus)), start=1):
        assert scores.corpus == pytest.approx(naive.bleu(corpus, k))


def test_smoothing_scores_a_caption_without_long_matches():
    candidate, reference = "a dog runs fast".split(), "a dog is slow".split()
    plain, *smoothed = (
        tfcap.text.bleu([candidate], [[reference]], smoothing=s)[3].corpus
        for s in (None, "add_one", "floor", "exponential")
    )
    assert plain < 1e-3
    counts = (2 / 4) * (2 / 4) * (1 / 3) * (1 / 2)
    assert smoothed[0] == pytest.approx(counts ** (1 / 4))
    counts = (2 / 4) * (1 / 3) * (0.1 / 2) * (0.1 / 1)
    assert smoothed[1] == pytest.approx(counts ** (1 / 4))
    counts = (2 / 4) * (1 / 3) * (0.5 / 2) * (0.25 / 1)
    assert smoothed[2] == pytest.approx(counts ** (1 / 4))


def test_what_makes_no_bleu_is_refused():
    with pytest.raises(ValueError, match="`smoothing` must be one of"):
        tfcap.text.bleu([["a"]], [[["a"]]], smoothing="nist")
    with pytest.raises(ValueError, match="`smoothing` must be one of"):
        self_bleu([[["a"], ["b"]]], smoothing="nist")
    with pytest.raises(ValueError, match="Received: max_order=0"):
        tfcap.text.bleu([["a"]], [[["a"]]], max_order=0)
