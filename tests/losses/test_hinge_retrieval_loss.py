import keras
import numpy as np
import pytest

from tests.gradients import gradients
from tests.testing import tf
from tfcap.losses import HingeRetrievalLoss
from tfcap.losses import hinge_retrieval_loss
from tfcap.losses.retrieval_loss import hinges

#: Losses are of float64, and of float32 on JAX.
EXACT = 1e-10 if tf else 2e-5
HARDNESS = {"sum": 0.0, "hardest": 1.0, 0.25: 0.25}


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def fill(*shape, k):
    size = np.prod(shape)
    return np.sin(np.arange(1, size + 1) * 0.7 * k).reshape(shape)


def embeddings(rows=5, samples=3, units=4, seed=0):
    rng = np.random.default_rng(seed)
    images = unit(rng.normal(size=(rows, units)))
    noise = rng.normal(size=(rows, samples, units))
    return images, unit(images[:, None] + noise)


def joined(images, texts):
    """Images before their texts, as networks predict them."""
    return np.concatenate([images[:, None], texts], axis=1)


def oracle(
    images,
    texts,
    margin=0.2,
    hardness=1.0,
    directions=("image", "text"),
    distractors=(),
    same=None,
    mask=None,
    hinge=lambda margin, rival, truth: max(0.0, margin + rival - truth),
):
    rows, samples = texts.shape[:2]
    mask = np.ones((rows, samples)) if mask is None else mask
    same = -np.ones(rows) if same is None else same
    losses = np.zeros((rows, samples))
    for b, s in np.ndindex(rows, samples):
        if not mask[b, s]:
            continue
        others = [
            c
            for c in range(rows)
            if c != b and (same[b] < 0 or same[c] != same[b])
        ]
        rivals = {
            "image": [images[c] @ texts[b, s] for c in others if mask[c].any()]
            + [x @ texts[b, s] for x in distractors],
            "text": [
                images[b] @ texts[c, k]
                for c in others
                for k in range(samples)
                if mask[c, k]
            ],
        }
        truth = images[b] @ texts[b, s]
        for direction in directions:
            costs = [hinge(margin, r, truth) for r in rivals[direction]] or [0]
            losses[b, s] += hardness * max(costs)
            losses[b, s] += (1 - hardness) * sum(costs)
    return losses


@pytest.mark.parametrize("negatives", HARDNESS)
@pytest.mark.parametrize(
    "directions", [("image", "text"), ("image",), ("text",)]
)
@pytest.mark.parametrize("margin", [0.2, 1.0])
def test_equals_a_loop_over_the_formula(negatives, directions, margin):
    images, texts = embeddings()
    found = hinge_retrieval_loss(images, texts, margin, negatives, directions)
    hardness = HARDNESS[negatives]
    wanted = oracle(images, texts, margin, hardness, directions)
    assert found.shape == (5, 3) and (wanted > 0).any()
    np.testing.assert_allclose(found, wanted, atol=EXACT)


def test_golden_values_of_the_released_code():
    images = unit(fill(4, 6, k=1))
    texts = unit(fill(4, 6, k=1.4) + 0.8 * images)[:, None]
    for negatives, wanted in (("hardest", 3.85714622), ("sum", 7.51899792)):
        found = hinge_retrieval_loss(
            images, texts, negatives=negatives, reduction="sum"
        )
        np.testing.assert_allclose(found, wanted, rtol=max(EXACT, 1e-8))


@pytest.mark.parametrize("negatives", HARDNESS)
def test_masks_twins_and_distractors_by_the_loop(negatives):
    images, texts = embeddings(6)
    mask = np.ones((6, 3))
    mask[1, 2] = mask[4] = 0
    same = np.array([7, 3, 7, -1, -1, 3])
    more = unit(np.random.default_rng(5).normal(size=(4, 4)))
    texts[mask == 0] = np.nan
    found = hinge_retrieval_loss(
        images, texts, 0.2, negatives, distractors=more, same=same, mask=mask
    )
    wanted = oracle(
        images,
        texts,
        hardness=HARDNESS[negatives],
        distractors=more,
        same=same,
        mask=mask,
    )
    np.testing.assert_allclose(found, wanted, atol=EXACT)
    plain = hinge_retrieval_loss(images, np.nan_to_num(texts), 0.2, negatives)
    assert (np.abs(plain - wanted)[mask > 0] > 1e-3).any()


def check_slopes(loss, loop, arrays, places):
    """Compares gradients with finite differences of a loop.

    Args:
        loss: Function of tensors that returns a sum of losses.
        loop: Function of arrays that returns all losses.
        arrays: List of arrays.
        places: Function of an array that returns the indices to look at.
    """
    _, *slopes = gradients(loss, *arrays)
    for which, slope in enumerate(slopes):
        for place in places(arrays[which]):
            values = []
            for step in (1e-6, -1e-6):
                moved = [x.copy() for x in arrays]
                moved[which][place] += step
                values.append(loop(*moved).sum())
            wanted = (values[0] - values[1]) / 2e-6
            np.testing.assert_allclose(slope[place], wanted, 1e-5, 1e-6)


@pytest.mark.parametrize("negatives", HARDNESS)
def test_gradients_by_finite_differences(negatives):
    images, texts = embeddings(4, 2)
    mask = np.array([[1, 1], [1, 0], [1, 1], [1, 1]])
    texts[1, 1] = np.nan
    more = {"negatives": negatives, "mask": mask, "reduction": "sum"}
    check_slopes(
        lambda *both: hinge_retrieval_loss(*both, **more),
        lambda *both: oracle(*both, hardness=HARDNESS[negatives], mask=mask),
        [images, texts],
        lambda array: np.ndindex(array.shape),
    )


@pytest.mark.parametrize("negatives", HARDNESS)
def test_what_is_called_collapsed_is_the_loss_of_equal_scores(negatives):
    images, texts = embeddings(6)
    mask = np.ones((6, 3))
    mask[2, 1] = 0
    same = np.array([0, 1, 0, 2, 3, 4])
    options = {"distractors": images[:2], "same": same, "mask": mask}
    sides = ("image", "text")
    _, collapsed = hinges(images, texts, 0.2, negatives, sides, **options)
    wanted = oracle(
        images,
        texts,
        hardness=HARDNESS[negatives],
        hinge=lambda margin, rival, truth: margin,
        **options,
    )
    keep = mask > 0
    np.testing.assert_allclose(
        np.array(collapsed)[keep], wanted[keep], rtol=1e-6, atol=1e-6
    )


def test_a_step_does_not_make_a_schedule_of_a_number():
    images, texts = embeddings()
    step = keras.Variable(0, dtype="int32", trainable=False)
    loss = HingeRetrievalLoss(negatives=0.25, step=step)
    found = loss(None, joined(images, texts))
    wanted = oracle(images, texts, hardness=0.25).mean()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="`negatives` must be"):
        HingeRetrievalLoss(negatives="all", step=step)
