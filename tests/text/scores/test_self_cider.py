import math

import numpy as np
import pytest
from hypothesis import given

import tfcap
from tests.text.scores import naive


def test_self_cider_gives_the_golden_values_of_the_reference_code():
    golden = naive.GOLDEN["scores"]["self_cider"]
    scores = tfcap.text.self_cider(naive.SAMPLES, naive.REFERENCES)
    assert scores.corpus == pytest.approx(golden["corpus"])
    np.testing.assert_allclose(scores.each, golden["each"], atol=1e-7)


@given(naive.sets)
def test_self_cider_is_that_of_a_loop(sets):
    frequencies = naive.document_frequencies(naive.SAMPLES)
    documents = len(naive.SAMPLES)
    scores = tfcap.text.self_cider(sets, naive.SAMPLES)
    for score, members in zip(scores.each, sets):
        kernels = np.zeros((4, len(members), len(members)))
        for k, i, j in np.ndindex(kernels.shape):
            kernels[k, i, j] = naive.similarity(
                members[i], members[j], k + 1, frequencies, documents, False
            )
        kernel = kernels.mean(0)
        roots = np.sqrt(np.clip(np.linalg.eigvalsh(kernel), 0, None))
        if not roots.any():
            assert score == 0
            continue
        share = roots[-1] / roots.sum()
        wanted = -math.log(share) / math.log(len(members))
        # The root turns rounding errors of 1e-16 into 1e-8.
        assert score == pytest.approx(wanted, abs=1e-6)


def test_captions_that_share_nothing_are_as_diverse_as_can_be():
    sets = [[list("abcd"), list("efgh"), list("ijkl")]]
    references = [[list("mnop")], [list("qrst")]]
    scores = tfcap.text.self_cider(sets, references)
    assert scores.corpus == pytest.approx(1)
    # The same caption twice is not diverse, nor are empty ones.
    sets = [[list("abcd"), list("abcd")], [[], []]]
    scores = tfcap.text.self_cider(sets, references)
    np.testing.assert_allclose(scores.each, [0, 0], atol=1e-6)


def test_a_single_caption_is_refused():
    with pytest.raises(ValueError, match="at least 2 captions"):
        tfcap.text.self_cider([[["a"]]], naive.REFERENCES)
