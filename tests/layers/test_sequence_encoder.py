import numpy as np
import pytest

from tests import testing
from tfcap.layers import SoftEmbedding
from tfcap.layers.sequence_encoder import SequenceEncoder

RNG = np.random.default_rng(0)
WORDS = RNG.normal(size=(2, 3, 5, 4)).astype("float32")


def test_leading_axes_are_all_the_same():
    encode = SequenceEncoder(6, return_state=True)
    whole, state = encode(WORDS)
    flat, flat_state = encode(WORDS.reshape(6, 5, 4))
    for a, b in zip([whole, *state], [flat, *flat_state]):
        np.testing.assert_allclose(
            np.reshape(a, (6, 6)), b, rtol=1e-6, atol=1e-6
        )


def test_padding_left_or_right_is_the_same():
    embed, encode = SoftEmbedding(9, 4), SequenceEncoder(6)
    right = np.array([[[3, 4, 0, 0], [5, 0, 0, 0], [1, 2, 3, 4]]])
    left = np.array([[[0, 0, 3, 4], [0, 0, 0, 5], [1, 2, 3, 4]]])
    np.testing.assert_allclose(
        encode(embed(right)), encode(embed(left)), atol=1e-6
    )


def test_the_last_state_is_that_after_the_last_word():
    encode = SequenceEncoder(6)
    mask = np.array([[[1, 1, 0, 0, 0]] * 3] * 2)
    np.testing.assert_allclose(
        encode(WORDS, mask=mask), encode(WORDS[:, :, :2]), atol=1e-6
    )


@pytest.mark.parametrize("sequences", [False, True])
def test_nothing_under_the_mask_matters(sequences):
    mask = RNG.integers(0, 2, size=(2, 3, 5))
    testing.check_mask(
        lambda: SequenceEncoder(6, return_sequences=sequences),
        {"inputs": WORDS},
        {"inputs": ("mask", mask)},
    )
