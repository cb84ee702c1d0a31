import pytest
from hypothesis import given

import tfcap
from tests.text.scores import naive


@given(naive.sets)
def test_what_was_said_before_is_counted_once_for_every_time(sets):
    captions = [caption for members in sets for caption in members]
    for order in (1, 2, 4):
        scores = tfcap.text.repeated_ngrams(captions, order)
        for caption, found in zip(captions, scores.each):
            counts = naive.ngrams(caption, order)
            again = sum(count - 1 for count in counts.values())
            total = max(sum(counts.values()), 1)
            assert found == pytest.approx(again / total)
        assert scores.corpus == pytest.approx(scores.each.mean())


def test_a_caption_too_short_repeats_nothing():
    scores = tfcap.text.repeated_ngrams([[], ["a"], ["a", "a", "a"]])
    assert scores.each.tolist() == [0, 0, 0.5]


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="Received: order=0"):
        tfcap.text.repeated_ngrams([["a"]], 0)
    with pytest.raises(TypeError, match="tokenized"):
        tfcap.text.repeated_ngrams(["a dog"])
    with pytest.raises(ValueError, match="`captions`"):
        tfcap.text.repeated_ngrams([])
