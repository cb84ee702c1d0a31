"""What a text adds to the losses of others, by leaving it out."""

import numpy as np
import pytest

from tests.losses.test_hinge_retrieval_loss import EXACT
from tests.losses.test_hinge_retrieval_loss import embeddings
from tfcap.losses import bidirectional_contrastive_loss
from tfcap.losses import hinge_retrieval_loss
from tfcap.losses.contrastive_loss import contrast_effects
from tfcap.losses.retrieval_loss import hinge_effects

IMAGES, TEXTS = embeddings(5, 3)
# Of every image two texts are there: without its last text, the image is no
# rival either, and that is no effect of the words of this text.
MASK = np.ones((5, 3))
MASK[1, 2] = MASK[3, 0] = 0
SAME = np.array([4, 7, 4, -1, -1])


def by_leaving_out(loss, mask):
    """Of every text, the losses of the others less those without it."""
    effects = np.zeros(mask.shape)
    for b, s in np.argwhere(mask):
        without = mask.copy()
        without[b, s] = 0
        there = np.array(loss(mask)) * without
        effects[b, s] = np.sum(there - np.array(loss(without)) * without)
    return effects


@pytest.mark.parametrize("negatives", ["hardest", "sum", 0.4])
@pytest.mark.parametrize("same", [None, SAME], ids=["all differ", "twins"])
@pytest.mark.parametrize("mask", [np.ones((5, 3)), MASK], ids=["all", "some"])
def test_effects_on_hinges(negatives, same, mask):
    def loss(mask):
        return hinge_retrieval_loss(
            IMAGES, TEXTS, 0.3, negatives, same=same, mask=mask
        )

    found = hinge_effects(IMAGES, TEXTS, 0.3, negatives, same, mask)
    wanted = by_leaving_out(loss, mask)
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(found, wanted, atol=EXACT)


@pytest.mark.parametrize("decoupled", [True, False])
@pytest.mark.parametrize("siblings", [True, False])
@pytest.mark.parametrize("temperature", [0.3, 0.01])
def test_effects_on_contrasts(decoupled, siblings, temperature):
    rivals = embeddings(5, 2, seed=4)[1]
    given = {
        "temperature": temperature,
        "decoupled": decoupled,
        "siblings": siblings,
        "rivals": rivals,
        "rival_mask": np.array([[1, 0]] * 5),
        "same": SAME,
    }

    def loss(mask):
        return bidirectional_contrastive_loss(
            IMAGES, TEXTS, directions=("text",), mask=mask, **given
        )

    found = contrast_effects(IMAGES, TEXTS, mask=MASK, **given)
    wanted = by_leaving_out(loss, MASK)
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(found, wanted, rtol=EXACT, atol=EXACT)


def test_one_negative_alone_has_the_whole_contrast():
    images, texts = IMAGES[:2], TEXTS[:2, :1]
    given = {"temperature": 0.5, "decoupled": True, "siblings": False}
    loss = bidirectional_contrastive_loss(
        images, texts, directions=("text",), **given
    )
    found = contrast_effects(images, texts, **given)
    np.testing.assert_allclose(found, loss[::-1], atol=EXACT)


def test_a_single_text_has_no_effect():
    found = hinge_effects(IMAGES[:1], TEXTS[:1, :1], 0.3, "hardest")
    np.testing.assert_array_equal(found, [[0.0]])
