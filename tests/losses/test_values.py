"""Values of all losses by hand; a test runs this file on JAX, too."""

import keras
import numpy as np
import pytest

from tfcap import losses

LABELS = np.array([[1, 0, -1]])
SCORES = np.array([[1.0, 2.0, 9.0]], "float32")
CASES = {
    "n_pair": (losses.NPairLoss(), (LABELS, SCORES), np.log1p(np.exp(1))),
    "sequence_crossentropy": (
        losses.SequenceCrossentropy(),
        (np.array([[2]]), SCORES[:, None]),
        np.log(np.exp([1, 2, 9]).sum()) - 9,
    ),
    "embedding_norm": (losses.EmbeddingNorm(), (SCORES,), 8.6),
    "hinge_retrieval": (
        losses.HingeRetrievalLoss(),
        (None, np.ones((4, 2, 1))),
        0.4,
    ),
    # Two, one and one other image; five other texts.
    "bidirectional_contrastive": (
        losses.BidirectionalContrastiveLoss(siblings=True),
        (np.array([0, 1, 1]), np.ones((3, 3, 1))),
        np.log([2, 1, 1]).mean() / 2 + np.log(5) / 2,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    loss, arguments, wanted = CASES[name]
    found = keras.ops.convert_to_numpy(loss(*arguments))
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-6)
