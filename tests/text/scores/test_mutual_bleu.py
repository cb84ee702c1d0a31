import numpy as np
import pytest
from hypothesis import given

import tfcap
from tests.text.scores import naive
from tfcap.text.scores.bleu import mutual_bleu


def test_mbleu_gives_the_golden_values_of_the_reference_code():
    golden = naive.GOLDEN["scores"]["mutual_bleu"]
    scores = mutual_bleu(naive.SAMPLES)
    np.testing.assert_allclose([s.corpus for s in scores], golden["corpus"])
    each = [score.each for score in scores]
    np.testing.assert_allclose(each, golden["each"], atol=1e-11)


@given(naive.sets)
def test_mbleu_is_the_mean_bleu_of_every_place(sets):
    sets = [members[:2] for members in sets]
    scores = mutual_bleu(sets, max_order=3)
    places = [
        tfcap.text.bleu([s[i] for s in sets], [[s[1 - i]] for s in sets], 3)
        for i in (0, 1)
    ]
    for score, *parts in zip(scores, *places):
        mean = np.mean([part.corpus for part in parts])
        assert score.corpus == pytest.approx(mean, abs=1e-12)
        each = np.mean([part.each for part in parts], axis=0)
        np.testing.assert_allclose(score.each, each, atol=1e-12)


def test_a_single_caption_of_an_image_is_refused():
    with pytest.raises(ValueError, match="at least 2 captions"):
        mutual_bleu([[["a"]]])
