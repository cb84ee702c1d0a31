import keras
import numpy as np
import pytest

from tfcap._ops import token_log_probs
from tfcap.layers._fast import masked_word_scores
from tfcap.models.word_by_word import VocabularyHead
from tfcap.models.word_by_word import never_said

RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(4, 5, 3)).astype("float32")
TOKENS = RNG.integers(2, 7, (4, 5)).astype("int32")


def head(**arguments):
    made = VocabularyHead(7, (0, 1), **arguments)
    made.build((None, 3))
    made.bias.assign(RNG.normal(size=7))
    return made


def test_logits_are_scaled_and_some_words_never_said():
    made = head(scale=2.0)
    expected = 2 * (HIDDEN @ np.asarray(made.kernel) + np.asarray(made.bias))
    logits = np.asarray(made(HIDDEN))
    assert logits.shape == (4, 5, 7) and logits.dtype == "float32"
    np.testing.assert_allclose(
        logits[..., 2:], expected[..., 2:], rtol=1e-5, atol=1e-6
    )
    assert (keras.ops.softmax(logits)[..., :2].numpy() == 0).all()
    np.testing.assert_allclose(made(HIDDEN[0]), logits[0], rtol=1e-6, atol=1e-6)


def test_half_precision_holds_what_is_never_said():
    made = head(dtype="mixed_float16")
    logits = made(HIDDEN)
    assert logits.dtype == "float32"
    assert np.isfinite(logits).all()
    np.testing.assert_allclose(
        np.asarray(logits)[..., 2:],
        (HIDDEN @ np.asarray(made.kernel) + np.asarray(made.bias))[..., 2:],
        atol=1e-2,
    )


@pytest.mark.parametrize(
    "eos, kept", [(2, (0, 1)), (1, (0,)), ((5, 0), (1,)), ([0, 1], ())]
)
def test_what_ends_may_be_said(eos, kept):
    assert never_said((1, 0, 1), eos) == kept


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_masked_words_are_not_weighed(share):
    made, mask = head(), RNG.random((4, 5)) < share
    weighed = []

    def weigh(rows):
        weighed.append(rows.shape[0])
        return made(rows)

    scores = masked_word_scores(weigh, HIDDEN, TOKENS, mask)
    expected = token_log_probs(made(HIDDEN), TOKENS) * mask
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)
    if keras.backend.backend() == "tensorflow":
        assert weighed == [mask.sum()]
